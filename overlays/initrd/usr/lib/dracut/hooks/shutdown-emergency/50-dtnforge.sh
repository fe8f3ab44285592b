# Sourced by dracut when the initrd cannot go on, before it does what rd.emergency= says: names what is wrong on each
# console. The entry that tunes then reboots, which is counted. The stock entry has nothing to fall back to, and a node that
# came from the network has no count: a reboot would only come here again, so it stays, and says so every minute.

dtn_fault() {
    if [ -s /run/dtnforge/root-fault ]; then
        cat /run/dtnforge/root-fault
    elif [ ! -b /dev/mapper/root ]; then
        echo "the root partition was not found, or its hashes cannot be opened"
    else
        echo "the initrd failed: $(systemctl --failed --plain --no-legend | while read -r unit _; do printf '%s ' "$unit"; done)"
    fi
}

dtn_tell() {
    while read -r dtn_tty _; do
        printf '\r\n%s\r\n' "dtnforge: $1" >"/dev/$dtn_tty"
    done </proc/consoles
}

dtn_said="this entry cannot start: $(dtn_fault)"
dtn_hint=
if [ "$(getarg dtnforge.boot=)" = net ]; then
    dtn_hint="the node stays here: mend that and start it again, or boot another medium"
elif [ "$(getarg dtnforge.mode=)" = stock ]; then
    dtn_hint="no other entry is left and the node stays here: write the image again, or boot another medium"
fi
if [ -n "$dtn_hint" ]; then
    while :; do
        dtn_tell "$dtn_said"
        dtn_tell "$dtn_hint"
        sleep 60
    done
fi
dtn_tell "$dtn_said"
