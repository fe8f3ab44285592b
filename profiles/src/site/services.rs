//! The services of a site that wait for the verdict, so that no transfer runs through a trial.

use super::{OutOfRange, SiteFile};
use std::time::Duration;

/// The most services that a site may name.
const MOST: usize = 32;
/// The longest name of a unit that systemd takes, byte.
const LONGEST_NAME: usize = 255;
/// How long the services wait when the site does not say, s: longer than a first boot takes with all its limits at
/// their defaults.
const DEADLINE_S: u32 = 1800;
/// What waits for the agent, or what the agent waits for: made to wait for its verdict, each would be a cycle.
const NEEDED_BEFORE: [&str; 15] = [
    "NetworkManager",
    "chrony",
    "cloud-",
    "dbus",
    "dtn-",
    "dtnforge-",
    "emergency",
    "getty@",
    "initrd-",
    "networking",
    "rescue",
    "ssh.",
    "sshd",
    "systemd-",
    "tuned",
];

/// Services that start after the verdict, and how long they wait for it at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Services {
    /// Names of units, each ending in `.service`, without a repetition.
    pub names: Vec<String>,
    /// After this time the agent is stopped, which takes a live trial back, and they start.
    pub deadline: Duration,
}

impl SiteFile {
    /// The services that wait for the verdict. No part of [`Site`](super::Site): they decide nothing about tuning, and a
    /// commit fits whatever they are.
    ///
    /// # Errors
    /// The first name that is none of a service, or of one that must not wait; a deadline out of its range.
    pub fn services(&self) -> Result<Services, OutOfRange> {
        let bad = |key, found, expected| Err(OutOfRange { key, found, expected });
        let mut names: Vec<String> = Vec::new();
        for name in self.services_after_verdict.iter().flatten() {
            if !is_service_name(name) {
                let expected = "names of services, such as xrootd.service or xrootd@clustered.service";
                return bad("services_after_verdict", format!("{name:?}"), expected);
            }
            if NEEDED_BEFORE.iter().any(|start| name.starts_with(start)) {
                let expected = "services of the site; this one has to run before the agent can end";
                return bad("services_after_verdict", format!("{name:?}"), expected);
            }
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        if names.len() > MOST {
            return bad(
                "services_after_verdict",
                "a longer list".to_owned(),
                "at most 32 names",
            );
        }
        let seconds = self.services_deadline_s.unwrap_or(DEADLINE_S);
        if !(60..=3000).contains(&seconds) {
            return bad("services_deadline_s", seconds.to_string(), "60 to 3000 s");
        }
        let deadline = Duration::from_secs(u64::from(seconds));
        Ok(Services { names, deadline })
    }
}

/// Whether systemd takes it as the name of one service: no template without its instance, and nothing that would be
/// more than one word in a unit file or more than one name in a path.
fn is_service_name(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".service") else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    name.len() <= LONGEST_NAME
        && stem.chars().all(plain)
        && !stem.starts_with(['.', '-', '@'])
        && !stem.ends_with('@')
        && !stem.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn services(toml: &str) -> Result<Services, String> {
        let file: SiteFile = toml::from_str(toml).unwrap();
        file.services().map_err(|error| error.to_string())
    }

    #[test]
    fn a_site_that_says_nothing_has_no_services_that_wait() {
        let none = services("").unwrap();
        assert_eq!(none.names, Vec::<String>::new());
        assert_eq!(none.deadline, Duration::from_secs(1800));
    }

    #[test]
    fn named_services_are_kept_in_order_and_once() {
        let text = "services_after_verdict = ['xrootd@clustered.service', 'cmsd\\x2da.service', \
                    'xrootd@clustered.service']\nservices_deadline_s = 600";
        let said = services(text).unwrap();
        assert_eq!(said.names, ["xrootd@clustered.service", "cmsd\\x2da.service"]);
        assert_eq!(said.deadline, Duration::from_secs(600));
    }

    #[test]
    fn what_is_no_name_of_a_service_is_refused() {
        for name in [
            "xrootd",
            "xrootd.target",
            "../x.service",
            "a b.service",
            "a\nb.service",
            "a%i.service",
            ".service",
            "-x.service",
            "xrootd@.service",
            "ü.service",
        ] {
            let file = SiteFile {
                services_after_verdict: Some(vec![name.to_owned()]),
                ..SiteFile::default()
            };
            let said = file.services().unwrap_err().to_string();
            assert!(
                said.starts_with("key `services_after_verdict`: \"") && said.contains("names of services"),
                "{name}: {said}"
            );
        }
    }

    #[test]
    fn a_service_that_has_to_run_before_the_agent_is_refused() {
        for name in [
            "ssh.service",
            "sshd.service",
            "systemd-networkd.service",
            "dtn-firstboot.service",
            "dbus-broker.service",
        ] {
            let said = services(&format!("services_after_verdict = ['{name}']")).unwrap_err();
            assert!(said.contains("before the agent can end"), "{said}");
        }
    }

    #[test]
    fn a_list_or_a_deadline_without_bounds_is_refused() {
        let names: Vec<String> = (0..33).map(|number| format!("'x{number}.service'")).collect();
        let said = services(&format!("services_after_verdict = [{}]", names.join(","))).unwrap_err();
        assert!(said.contains("at most 32 names"), "{said}");
        let said = services("services_deadline_s = 5").unwrap_err();
        assert_eq!(
            said,
            "key `services_deadline_s`: 5 is out of range, expected 60 to 3000 s"
        );
    }

    #[test]
    fn the_whole_file_is_refused_with_them_and_a_commit_does_not_depend_on_them() {
        let bad: SiteFile = toml::from_str("services_after_verdict = ['x']").unwrap();
        let said = bad.check().unwrap_err().to_string();
        assert!(said.contains("key `services_after_verdict`"), "{said}");
        let good: SiteFile = toml::from_str("services_after_verdict = ['xrootd.service']").unwrap();
        assert_eq!(good.check().unwrap(), SiteFile::default().check().unwrap());
    }
}
