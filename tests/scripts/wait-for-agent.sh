# Part of scripts that run in a guest: waits until the agent's unit has ended, for at most 15 minutes.
for _ in $(seq 900); do
    case $(systemctl show --property=ActiveState --value dtn-firstboot.service 2>/dev/null) in
    active | failed) break ;;
    esac
    sleep 1
done
