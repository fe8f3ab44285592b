# Takes memory as the state file system when the disk is no good, with what makes the node reachable as itself: the
# changes to /etc (its id, host keys, the site's files) and the keys of its users, as far as they can be read. What the
# agent concluded is left behind: nothing is tuned by a state that cannot be kept.
set -u
device=/dev/disk/by-label/dtn-state
state=/sysroot/state
old=/run/dtnforge/state-disk

[ -e /run/dtnforge/state-mounted ] && exit 0
mkdir -p /run/dtnforge
[ -e /run/dtnforge/state-fault ] || echo "the state partition did not answer in time" >/run/dtnforge/state-fault

save() {
    mkdir -p $old
    # Its journal stays as it is: what is wrong with the disk may be the writing.
    timeout 20 mount -o ro,noload $device $old || timeout 20 mount -o ro,norecovery $device $old || return
    timeout 20 cp -a $old/etc/upper/. $state/etc/upper/
    (cd $old && timeout 20 cp -a --parents root/.ssh home/*/.ssh $state/)
    umount -l $old
    rm -f $state/etc/upper/dtnforge/state.json
    # Something large in there would leave the boot no room.
    set -- $(stat -f -c '%f %b' $state)
    if [ $(($1 * 2)) -lt "$2" ]; then
        echo "dtnforge: the changes to /etc are too large for memory, and are left behind" >&2
        rm -rf $state/etc
        . /usr/lib/dtnforge/state-places.sh
    fi
}

umount $state || umount -l $state
mount -t tmpfs -o mode=0755,size=25% dtn-state $state
. /usr/lib/dtnforge/state-places.sh
# A node that was booted from the network leaves the disks of the machine alone.
[ -e /run/dtnforge/state-apart ] || save
exit 0
