//! The drop-ins that order a site's services behind the verdict.

use crate::atomic;
use crate::host::Host;
use crate::siteconf;
use anyhow::Context as _;
use dtnforge_profiles::site::Services;
use std::path::Path;
use std::time::Duration;

/// What the services wait for.
pub const WAITING_UNIT: &str = "dtn-verdict.service";
/// Where systemd lets generators write, of those places the one that a unit of the site can override.
const GENERATED: &str = "/run/systemd/generator";
const FILE: &str = "50-dtnforge-verdict.conf";
/// Time for systemd to read all units again, on a machine that is booting.
const RELOAD: Duration = Duration::from_secs(60);

/// Wanted and not required: a verdict that failed starts them too.
const DROP_IN: &str = "\
# Written by dtnforge: `services_after_verdict` in the site's settings names this service.
[Unit]
Wants=dtn-verdict.service
After=dtn-verdict.service
";

/// Writes the drop-ins of this node below `directory`, as a generator does; returns the services.
///
/// # Errors
/// When the site's settings cannot be used, or a file cannot be written.
pub fn generate(host: &Host, directory: &Path) -> anyhow::Result<Vec<String>> {
    let Services { names, .. } = siteconf::services(host)?;
    for name in &names {
        let path = directory.join(format!("{name}.d")).join(FILE);
        atomic::write(&path, DROP_IN.as_bytes(), 0o644)?;
    }
    Ok(names)
}

/// Has systemd run its generators again when a service was named after they ran: by a seed, on a first boot. Returns
/// the services for which that was needed.
///
/// # Errors
/// When the site's settings cannot be used, or systemd does not do it.
pub fn catch_up(host: &Host) -> anyhow::Result<Vec<String>> {
    let has_drop_in = |name: &String| host.path(&format!("{GENERATED}/{name}.d/{FILE}")).exists();
    let mut late = siteconf::services(host)?.names;
    late.retain(|name| !has_drop_in(name));
    if !late.is_empty() {
        host.run("systemctl", &["daemon-reload"], RELOAD)
            .context("systemd cannot be told of the services that wait for the verdict")?;
        // A service that is queued already does not pull in what it wants by now.
        host.run("systemctl", &["start", "--no-block", WAITING_UNIT], RELOAD)?;
    }
    Ok(late)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Node;
    use super::*;

    const SITE: &str = "services_after_verdict = ['xrootd@clustered.service', 'gridftp.service']\n";

    #[test]
    fn each_named_service_is_ordered_behind_the_verdict() {
        let node = Node::new();
        node.write("/etc/dtnforge/site.toml", SITE);
        let out = node.host.path("/out");
        let names = generate(&node.host, &out).unwrap();
        assert_eq!(names, ["xrootd@clustered.service", "gridftp.service"]);
        for name in names {
            let path = out.join(format!("{name}.d/50-dtnforge-verdict.conf"));
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.contains("[Unit]\nWants=dtn-verdict.service\nAfter=dtn-verdict.service\n"));
        }
    }

    #[test]
    fn a_site_that_names_none_gets_nothing() {
        let node = Node::new();
        let out = node.host.path("/out");
        assert_eq!(generate(&node.host, &out).unwrap(), Vec::<String>::new());
        assert!(!out.exists());
    }

    #[test]
    fn settings_that_are_wrong_are_named_and_nothing_is_written() {
        let node = Node::new();
        node.write(
            "/etc/dtnforge/site.toml",
            "services_after_verdict = ['../x.service']\n",
        );
        let out = node.host.path("/out");
        let error = generate(&node.host, &out).unwrap_err().to_string();
        assert!(error.contains("\"../x.service\""), "{error}");
        assert!(!out.exists());
    }

    #[test]
    fn services_that_a_seed_named_make_systemd_read_its_units_again_once() {
        let node = Node::new();
        node.systemctl("");
        node.write("/etc/dtnforge/site.toml", SITE);
        assert_eq!(catch_up(&node.host).unwrap().len(), 2);
        assert_eq!(
            node.told(),
            "daemon-reload\nstart --no-block dtn-verdict.service\n"
        );
        generate(&node.host, &node.host.path(GENERATED)).unwrap();
        assert_eq!(catch_up(&node.host).unwrap(), Vec::<String>::new());
        assert_eq!(node.told().lines().count(), 2);
    }
}
