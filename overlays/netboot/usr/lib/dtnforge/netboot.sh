# Attaches the image that came from the network as a read-only disk. A machine with too little memory unpacks half of
# it and would fail later with any error: that is said first. The builder writes netboot.conf beside this file.
set -u
. /usr/lib/dtnforge/netboot.conf
image=/dtnforge/disk.img

fault() {
    mkdir -p /run/dtnforge
    echo "$1" >/run/dtnforge/root-fault
    echo "dtnforge: $1" >&2
    exit 1
}

while read -r key kib _; do
    [ "$key" = MemTotal: ] && break
done </proc/meminfo
# The kernel and the firmware keep some of the memory for themselves; that much less still counts as enough.
[ $((kib / 1024 + least_mib / 16 + 64)) -ge "$least_mib" ] ||
    fault "booting from the network needs $least_mib MiB of memory, and this machine has about $((kib / 1024))"
[ -f $image ] || fault "the image of the root did not come with the initrd (root.cpio is missing, or did not fit into memory)"
[ "$(stat -c %s $image)" = "$image_bytes" ] ||
    fault "the image of the root is cut: $(stat -c %s $image) of $image_bytes bytes"
losetup --read-only --partscan /dev/loop0 $image || fault "the image of the root cannot be attached"
