# Part of scripts that run in a guest: waits until the boot was judged and the jobs that follow from it (blessing, arming
# the counter) are done, for at most 3 minutes.
for _ in $(seq 180); do
    state=$(systemctl show --property=ActiveState --value dtn-good-boot.service)
    jobs=$(systemctl list-jobs --no-legend 2>/dev/null)
    case $state in
    inactive | failed) [ -z "$jobs" ] && break ;;
    esac
    sleep 1
done
