# What the overlays and bind mounts of fstab stand on.
mkdir -p -m 0755 /sysroot/state/etc /sysroot/state/var /sysroot/state/home /sysroot/state/srv &&
    mkdir -p -m 0755 /sysroot/state/etc/upper /sysroot/state/etc/work /sysroot/state/var/upper /sysroot/state/var/work &&
    mkdir -p -m 0700 /sysroot/state/root
