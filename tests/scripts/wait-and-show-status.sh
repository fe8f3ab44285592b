#!/bin/bash
# Runs inside the guest: waits for the agent's verdict, then prints what the node says and what the kernel says.
set -u
systemctl is-active --quiet dtn-firstboot.service || systemctl start --wait dtn-firstboot.service || true
dtn-firstboot status
dtn-firstboot status --json > /run/dtnforge/status.json
echo; echo "the kernel's own words:"
sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.core.default_qdisc net.ipv4.tcp_congestion_control
for link in /sys/class/net/*/device; do
    name=${link%/device}; name=${name##*/}
    tc qdisc show dev "$name"; ethtool -g "$name" | tail -n +2
done
tuned-adm active
