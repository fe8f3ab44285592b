# Reads every block of the root, and so makes dm-verity compare every hash. Says which one is damaged.
set -u
root=/dev/mapper/root

fault() {
    echo "$1" >/run/dtnforge/root-fault
    echo "dtnforge: $1" >&2
    exit 1
}

first_damage() {
    dmesg | while read -r line; do
        case $line in
        *verity*"is corrupted"*)
            echo "${line#*verity: }"
            break
            ;;
        esac
    done
}

mkdir -p /run/dtnforge
[ -b $root ] || fault "the root partition was not found, or its hashes cannot be opened"
cat $root >/dev/null || fault "the root partition is damaged ($(first_damage))"
