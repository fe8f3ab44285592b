//! What a package manager runs. A package switches its units on by links, so little is left: systemd reads its units
//! again, and before a removal what is live goes back.

/// After an installation.
pub(super) const INSTALLED: &str = "\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
";

/// Before a removal, not before an upgrade. A rollback that does not succeed does not keep the package: what is left
/// lives in the kernel and under /run, and ends with the boot.
pub(super) const BEFORE_REMOVAL: &str = "\
if [ -d /run/systemd/system ]; then
    dtn-firstboot rollback || echo 'dtnforge-agent: what was live stays so until the next boot' >&2
    systemctl stop dtn-firstboot.service dtn-verdict.service dtn-tuned.service ||
        echo 'dtnforge-agent: its units end with this boot' >&2
fi
";

/// After a removal. What an admin wrote is kept.
pub(super) const REMOVED: &str = "\
rm -rf /etc/dtnforge/state.json /var/lib/dtnforge /run/dtnforge /run/motd.d/50-dtnforge
if [ -d /etc/dtnforge ]; then
    rmdir --ignore-fail-on-non-empty /etc/dtnforge
fi
if [ -d /run/systemd/system ]; then
    systemctl stop dtn-firstboot-early.service ||
        echo 'dtnforge-agent: dtn-firstboot-early.service ends with this boot' >&2
    systemctl daemon-reload
fi
";
