# Mounts the state partition and tries it: a node must not learn in the middle of its boot that its disk is full, can
# only be read, or returns errors. What is wrong is left in a file that the real root can read, too; the next unit
# (dtn-state.service) then takes memory in its place. Ends well either way.
set -u
device=/dev/disk/by-label/dtn-state
state=/sysroot/state
# Less than this and the first log line of the boot fills it: KiB, and files.
least_kib=1024
least_files=16

fault() {
    echo "$1" >/run/dtnforge/state-fault
    echo "dtnforge: $1" >&2
    exit 0
}

check() {
    case $(blkid -o value -s TYPE $device) in
    ext4)
        # Repairs only what is safe without asking; nothing when the file system is clean.
        timeout 300 e2fsck -p $device
        case $? in
        0 | 1 | 2 | 3) ;;
        124) fault "the state file system could not be checked within 5 minutes" ;;
        126 | 127) fault "the state file system cannot be checked: e2fsck cannot be run" ;;
        8 | 16 | 32 | 128) fault "the state file system could not be checked: e2fsck failed" ;;
        *) fault "the state file system has errors that cannot be repaired without an administrator" ;;
        esac
        ;;
    esac
}

is_full() {
    # What can be had, not what is free: ext4 keeps some blocks back, whoever asks.
    set -- $(stat -f -c '%a %S %d' $state)
    [ $(($1 * ($2 / 1024))) -lt $least_kib ] || [ "$3" -lt $least_files ]
}

# A copy of this file, down to the disk and back.
writable() {
    cat "$0" >$state/.probe && sync $state/.probe && rm $state/.probe
}

# Each file of the overlay of /etc: the boot needs them all. Of the rest the upper directories.
readable() {
    ls -lR $state/etc/upper >/dev/null && ls -l $state/*/ $state/var/*/ >/dev/null && contents $state/etc/upper
}

contents() {
    for entry in "$1"/* "$1"/.[!.]*; do
        if [ -h "$entry" ]; then
            continue
        elif [ -d "$entry" ]; then
            contents "$entry" || return 1
        elif [ -f "$entry" ]; then
            cat "$entry" >/dev/null || return 1
        fi
    done
}

mkdir -p /run/dtnforge
[ -b $device ] || fault "the state partition is missing"
name=$(readlink -f $device)
[ "$(cat "/sys/class/block/${name##*/}/ro")" = 0 ] || fault "the state partition is read-only"
check
mount -o rw,noatime $device $state || fault "the state partition cannot be mounted"
is_full && fault "the state partition is full"
. /usr/lib/dtnforge/state-places.sh || fault "the state partition cannot be written"
writable || fault "the state partition cannot be written"
readable || fault "the state partition cannot be read"
: >/run/dtnforge/state-mounted
