#!/bin/sh
# In a guest: renders profiles for this host, puts their files in place, and prints what the system's own tools say of
# them, what is live, and what is live after those who own the values were started again.
#
# Usage: check-profiles.sh DTNFORGE PROFILE...
# Prints `##PROFILE STEP EXIT-CODE` and then the step's output. Values are lines of NAME, WANTED, LIVE, apart by tabs.
dtnforge=$1
shift
work=$(mktemp -d)
log=/var/log/tuned/tuned.log

step() {
    name=$1
    shift
    output=$("$@" 2>&1)
    printf '##%s %s %s\n%s\n' "$profile" "$name" $? "$output"
}

# Files of the profile before must not stand in for those of this one.
clear_away() {
    rm -rf /run/sysctl.d/90-dtnforge-* /run/udev/rules.d/90-dtnforge-* /run/modules-load.d/dtnforge.conf /run/dtnforge/tuned
}

# A profile may leave tuned alone; what tuned set for the one before must not speak for it.
place() {
    if systemctl is-active --quiet tuned; then
        tuned-adm off && systemctl stop tuned || return 1
    fi
    clear_away && cp -r "$work/$profile/." /run/
}

cat_config() {
    cd /run && for file in sysctl.d/90-dtnforge-* modules-load.d/dtnforge.conf; do
        [ ! -e "$file" ] || systemd-analyze --no-pager cat-config "$file" || return 1
    done
}

verify_rules() {
    set -- /run/udev/rules.d/90-dtnforge-*.rules
    [ ! -e "$1" ] || udevadm verify "$@"
}

# The event of a port that appears, which our rules act on.
apply_rules() {
    udevadm control --reload && udevadm trigger --settle --action=add --subsystem-match=net
}

load_sysctls() {
    set -- /run/sysctl.d/90-dtnforge-*.conf
    [ ! -e "$1" ] || SYSTEMD_LOG_LEVEL=info /usr/lib/systemd/systemd-sysctl "$@"
}

# Rate of a flow in Mb/s and the number of queues that have it, once for each rate, of all ports.
rates() {
    tc -j qdisc show | grep -o '"maxrate":[0-9]*' | sort | uniq -c | sed 's/"maxrate"://' |
        awk '{ print $2 * 8 / 1000000, $1 }'
}

# The rate that the rules set, and the transmit queues of the port with this MAC.
wanted_rate() {
    rules=/run/udev/rules.d/90-dtnforge-60-pacing.rules
    [ -e "$rules" ] || return 0
    rate=$(sed -n 's/^# maxrate = //p' "$rules")
    mac=$(sed -n 's/.*ATTR{address}=="\([^"]*\)".*/\1/p' "$rules")
    port=$(grep -lx "$mac" /sys/class/net/*/address)
    set -- "${port%/address}"/queues/tx-*
    printf 'qdisc:maxrate\t%s\t%s\n' "$rate $#" "$work/rates"
}

# Knob, wanted value, file that holds the live one.
wanted() {
    wanted_rate
    cat /run/sysctl.d/90-dtnforge-*.conf 2>/dev/null | sed -n 's/^\([a-z][^ =]*\) *= *\(.*\)$/\1 \2/p' |
        while read -r key value; do
            printf '%s\t%s\t/proc/sys/%s\n' "sysctl:$key" "$value" "$(echo "$key" | tr . /)"
        done
    cat /run/dtnforge/tuned/profiles/*/tuned.conf 2>/dev/null | awk -F= '
        /^\[/ { section = $0; next }
        section == "[cpu]" && $1 == "governor" {
            print "cpu:governor\t" $2 "\t/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
        }
        section ~ /^\[disk/ && $1 == "devices" { count = split($2, disks, ",") }
        section ~ /^\[disk/ && ($1 == "elevator" || $1 == "readahead") {
            key = $1 == "elevator" ? "scheduler" : "read_ahead_kb"
            for (i = 1; i <= count; i++) {
                print "block/" disks[i] ":" key "\t" $2 "\t/sys/block/" disks[i] "/queue/" key
            }
        }'
}

values() {
    rates >"$work/rates"
    wanted | while IFS="$(printf '\t')" read -r knob value file; do
        live=$(cat "$file" 2>/dev/null) || live=ABSENT
        # Of `[none] mq-deadline` the one in brackets is live.
        live=$(echo "$live" | sed 's/.*\[\(.*\)\].*/\1/')
        printf '%s\t%s\t%s\n' "$knob" "$value" "$(echo $live)"
    done
}

# Waits until tuned has applied the profile, which it says in its log after byte $1.
applied() {
    for _ in $(seq 120); do
        tail -c "+$1" "$log" 2>/dev/null | grep -q 'static tuning from profile .* applied' && return 0
        sleep 0.5
    done
    tail -c "+$1" "$log"
    return 1
}

now() {
    echo $(($(wc -c <"$log" 2>/dev/null || echo 0) + 1))
}

has_tuned() {
    set -- /run/dtnforge/tuned/profiles/*/tuned.conf
    [ -e "$1" ]
}

start_again() {
    has_tuned || {
        systemctl restart systemd-sysctl
        return
    }
    from=$(now)
    systemctl restart tuned systemd-sysctl && applied "$from"
}

switch() {
    from=$(now)
    tuned-adm profile "dtnforge-$profile" && applied "$from" && tuned-adm active
}

verify() {
    from=$(now)
    tuned-adm verify
    code=$?
    tail -c "+$from" "$log" | grep 'verify: failed'
    return $code
}

dtn-firstboot detect --toml >"$work/facts.toml"
for profile in "$@"; do
    step render "$dtnforge" profile render "$profile" --host "$work/facts.toml" --pacing-mbps 2000 --out "$work/$profile"
    step place place
    step cat-config cat_config
    step udevadm-verify verify_rules
    step udev-apply apply_rules
    step modules-load /usr/lib/systemd/systemd-modules-load
    step sysctl load_sysctls
    if has_tuned; then
        step tuned-start systemctl start tuned
        step tuned-profile switch
        step tuned-verify verify
    fi
    step live values
    step start-again start_again
    step live-again values
done
systemctl stop tuned
clear_away
