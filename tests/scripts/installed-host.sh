# Runs in a guest that is no image of ours. What it prints is compared with what it printed before.
case $1 in
boot)
    # Counts the boots of this host.
    n=$(($(cat /root/boot 2>/dev/null || echo 0) + 1))
    echo $n >/root/boot
    systemctl is-system-running --wait >/dev/null
    echo $n
    ;;
knobs)
    # All that a profile may change, without counters, handles and ages.
    dev=$(ls /sys/class/net | grep -v '^lo$')
    sysctl -a 2>/dev/null -r '^(net\.core|net\.ipv4|net\.ipv6|vm)\.' |
        grep -v -e available_congestion -e allowed_congestion -e fastopen_key -e stable_secret | sort
    tc qdisc show dev "$dev" | sed -E 's/^(qdisc [a-z_]+) [0-9a-f]+:/\1/; s/ parent [0-9a-f]*:/ parent :/; s/ refcnt [0-9]+//'
    ip -d link show dev "$dev"
    for what in -g -l -k -c; do ethtool $what "$dev" 2>&1; done
    grep -H . /sys/block/nvme0n1/queue/scheduler /sys/block/nvme0n1/queue/read_ahead_kb
    cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor 2>/dev/null
    tuned-adm active
    systemctl is-active tuned
    head -n 99 /etc/tuned/active_profile /etc/tuned/profile_mode
    ;;
ours)
    # Every file, link and unit that bears our name, wherever it is; not what the test itself brought.
    find / -xdev \( -name '*dtn*' -o -name '*DTN*' \) ! -path '/usr/local/bin/dtn-firstboot' ! -path '/proc/*' 2>/dev/null | sort
    find /run -name '*dtn*' 2>/dev/null | sort
    systemctl list-units --all --no-legend --plain 'dtn*'
    grep -rl dtnforge /etc /run/systemd /run/udev /run/sysctl.d /run/modules-load.d 2>/dev/null | sort
    ;;
esac
