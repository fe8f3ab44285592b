//! What a package manager runs. A package switches its units on by links, so little is left: systemd reads its units
//! again, and before a removal what is live goes back.

/// After an installation.
pub(super) const INSTALLED: &str = "\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || echo 'dtnforge-agent: its units are known from the next boot on' >&2
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

/// After a removal. What an admin wrote is kept. systemd refuses to stop the early unit until it has read that its file
/// is gone. A systemd that does not answer fails no removal.
pub(super) const REMOVED: &str = "\
rm -rf /etc/dtnforge/state.json /var/lib/dtnforge /run/dtnforge /run/motd.d/50-dtnforge
if [ -d /etc/dtnforge ]; then
    rmdir --ignore-fail-on-non-empty /etc/dtnforge
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || echo 'dtnforge-agent: its units are known until the next boot' >&2
    systemctl stop dtn-firstboot-early.service ||
        echo 'dtnforge-agent: dtn-firstboot-early.service ends with this boot' >&2
fi
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_reads_that_the_units_are_gone_before_the_early_one_is_stopped() {
        let at = |words| REMOVED.find(words).unwrap();
        assert!(at("systemctl daemon-reload") < at("systemctl stop"), "{REMOVED}");
    }

    #[test]
    fn a_systemd_that_does_not_answer_fails_no_script() {
        for script in [INSTALLED, BEFORE_REMOVAL, REMOVED] {
            let mut calls = script.split("systemctl ").skip(1);
            assert!(calls.all(|call| call.contains("||")), "{script}");
        }
    }
}
