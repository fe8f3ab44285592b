# Prints what a trial could touch: managed sysctls and all others, each NIC, tuned, block queues, files of ours.
echo "## sysctl"; sysctl -a 2>/dev/null | grep -v -e '\.neigh\.'
for nic in $(ls /sys/class/net | grep -v '^lo$'); do
    echo "## ring $nic"; ethtool -g "$nic" 2>&1
    echo "## channels $nic"; ethtool -l "$nic" 2>&1
    echo "## features $nic"; ethtool -k "$nic" 2>&1
    echo "## coalesce $nic"; ethtool -c "$nic" 2>&1
    echo "## pause $nic"; ethtool -a "$nic" 2>&1
    echo "## qdisc $nic"; tc qdisc show dev "$nic"
    echo "## link $nic"; ip -d link show dev "$nic" | grep -v -e 'link/ether'
done
echo "## tuned"; cat /etc/tuned/active_profile /etc/tuned/profile_mode 2>/dev/null; systemctl is-active tuned
echo "## block"; for queue in /sys/block/*/queue; do
    for key in read_ahead_kb scheduler nr_requests rq_affinity nomerges max_sectors_kb add_random; do
        [ -e "$queue/$key" ] && echo "$queue/$key $(cat "$queue/$key" 2>/dev/null)"
    done
done
echo "## cpu"; cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null
echo "## files"; ls /run/sysctl.d /run/udev/rules.d /run/modules-load.d /run/tuned 2>/dev/null
