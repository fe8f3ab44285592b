#!/bin/bash
# Runs inside the guest, from early boot on: waits for the agent's verdict, then prints what the node says of itself
# and what the kernel says.
set -u
for _ in $(seq 900); do
    case $(systemctl show --property=ActiveState --value dtn-firstboot.service 2>/dev/null) in
    active | failed) break ;;
    esac
    sleep 1
done
dtn-firstboot status
dtn-firstboot status --json > /run/dtnforge/status.json
echo
echo "the kernel's own words:"
sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.core.default_qdisc net.ipv4.tcp_congestion_control
for link in /sys/class/net/*/device; do
    [ -e "$link" ] || continue
    name=${link%/device}
    name=${name##*/}
    tc qdisc show dev "$name"
    ethtool -g "$name" | tail -n +2
done
tuned-adm active
exit 0
