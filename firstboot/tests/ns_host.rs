//! Detection and checks on the real kernel, in a namespace: stacks of interfaces, and a router that goes away.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its helpers fails")]

mod namespace;

use dtn_firstboot::checks::{self, Neighbour};
use dtn_firstboot::detect;
use dtn_firstboot::host::Host;
use dtnforge_profiles::conclude::{self, Conclusions};
use dtnforge_profiles::facts::{Facts, Nic};
use dtnforge_profiles::site::SiteFile;
use namespace::inside;
use std::net::TcpListener;
use std::process::{Child, Command};

const PORT: &str = "dtnt-port-long";
const PEER: &str = "dtnt-peer-long";

/// Runs a command, which must succeed.
fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {errors}");
}

fn ip(args: &[&str]) {
    run("ip", args);
}

/// A network namespace that lives as long as a process in it, and the other end of our link in it.
struct Router(Child);

impl Router {
    fn start() -> Self {
        ip(&["link", "add", PORT, "type", "veth", "peer", "name", PEER]);
        let child = Command::new("unshare")
            .args(["--net", "sleep", "120"])
            .spawn()
            .unwrap();
        let router = Self(child);
        let pid = router.0.id().to_string();
        // The process gets its namespace a moment after it was started.
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        while std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap() == own {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        ip(&["link", "set", PEER, "netns", &pid]);
        router.ip(&["link", "set", PEER, "up"]);
        ip(&["link", "set", PORT, "up"]);
        router
    }

    /// Runs `ip` where the router is.
    fn ip(&self, args: &[&str]) {
        let pid = self.0.id().to_string();
        let enter: Vec<&str> = ["--target", &pid, "--net", "ip"]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        run("nsenter", &enter);
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // It is our own child and ends by itself after two minutes at the latest.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Conclusions that name our link; a veth is no port, so they are not concluded from facts.
fn about_our_link() -> Conclusions {
    let site = SiteFile::default().check().unwrap();
    Conclusions {
        data_nics: vec![PORT.to_owned()],
        ..conclude::conclude(&Facts::default(), &site)
    }
}

#[test]
fn a_router_that_no_longer_answers_fails_its_check() {
    if !inside("a_router_that_no_longer_answers_fails_its_check") {
        return;
    }
    let router = Router::start();
    router.ip(&["addr", "add", "192.0.2.1/24", "dev", PEER]);
    router.ip(&["addr", "add", "fd00:1::1/64", "dev", PEER, "nodad"]);
    ip(&["addr", "add", "192.0.2.2/24", "dev", PORT]);
    ip(&["addr", "add", "fd00:1::2/64", "dev", PORT, "nodad"]);
    ip(&["route", "add", "default", "via", "192.0.2.1"]);
    ip(&["-6", "route", "add", "default", "via", "fd00:1::1"]);
    let ssh = TcpListener::bind("0.0.0.0:22").unwrap();

    let conclusions = about_our_link();
    let before = checks::observe(&Host::live(), &conclusions);
    assert!(before.reach.links[0].carrier, "{before:?}");
    assert_eq!(before.reach.gateways.len(), 2, "{before:?}");
    for gateway in &before.reach.gateways {
        assert!(
            matches!(&gateway.neighbour, Neighbour::Resolved(_)),
            "{gateway:?}"
        );
    }
    assert!(before.reach.ssh_ports.contains(&22));

    // The router is gone; what the kernel remembers of it is old.
    router.ip(&["addr", "flush", "dev", PEER]);
    ip(&["neigh", "change", "192.0.2.1", "dev", PORT, "nud", "stale"]);
    ip(&["neigh", "change", "fd00:1::1", "dev", PORT, "nud", "stale"]);
    drop(ssh);
    let after = checks::observe(&Host::live(), &conclusions);
    let checks = checks::compare(&before, &after);
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| check.required && !check.ok)
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect();
    assert_eq!(
        failed,
        [
            format!("gateway:ipv4: 192.0.2.1 on {PORT} is FAILED"),
            format!("gateway:ipv6: fd00:1::1 on {PORT} is FAILED"),
            "sshd: nothing listens any more on [22]".to_owned(),
        ],
        "{checks:?}"
    );
}

#[test]
fn a_link_that_is_down_fails_and_one_that_comes_back_is_waited_for() {
    if !inside("a_link_that_is_down_fails_and_one_that_comes_back_is_waited_for") {
        return;
    }
    let router = Router::start();
    let conclusions = about_our_link();
    let before = checks::observe(&Host::live(), &conclusions);
    router.ip(&["link", "set", PEER, "down"]);
    let down = checks::observe(&Host::live(), &conclusions);
    let check = checks::compare(&before, &down).remove(0);
    assert_eq!(
        (check.ok, check.required, check.detail.as_str()),
        (false, true, "no carrier")
    );
    let again = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| checks::observe_again(&Host::live(), &conclusions, &before));
        std::thread::sleep(std::time::Duration::from_millis(700));
        router.ip(&["link", "set", PEER, "up"]);
        waiting.join().unwrap()
    });
    assert!(checks::compare(&before, &again)[0].ok, "{again:?}");
}

/// Makes a link of a kind that this kernel may lack; says so when it does.
fn made(args: &[&str]) -> bool {
    let output = Command::new("ip")
        .args(["link", "add"])
        .args(args)
        .output()
        .unwrap();
    if !output.status.success() {
        eprintln!(
            "skipped: {args:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    output.status.success()
}

fn nic<'a>(facts: &'a Facts, name: &str) -> &'a Nic {
    facts
        .nics
        .iter()
        .find(|nic| nic.name.as_deref() == Some(name))
        .unwrap()
}

#[test]
fn stacks_of_the_real_kernel_are_seen_as_they_are() {
    if !inside("stacks_of_the_real_kernel_are_seen_as_they_are") {
        return;
    }
    ip(&["link", "add", PORT, "type", "veth", "peer", "name", PEER]);
    let bond = made(&["dtnt-bond-long", "type", "bond", "mode", "active-backup"]);
    if bond {
        ip(&["link", "set", PORT, "master", "dtnt-bond-long"]);
        ip(&["link", "set", PORT, "up"]);
        ip(&["link", "set", PEER, "up"]);
        ip(&["link", "set", "dtnt-bond-long", "up"]);
    }
    let vlan = made(&["link", PEER, "name", "dtnt-vlan-long", "type", "vlan", "id", "7"]);
    let bridge = made(&["dtnt-bridge-lon", "type", "bridge"]);
    if bridge {
        ip(&["link", "set", PEER, "master", "dtnt-bridge-lon"]);
    }
    let odd = made(&["$(id);a&b", "type", "veth", "peer", "name", "dtnt-other-long"]);

    let facts = detect::detect(&Host::live());
    assert_eq!(nic(&facts, PORT).kind.as_deref(), Some("virtual"));
    assert!(facts.nics.iter().all(|nic| nic.name.as_deref() != Some("lo")));
    if bond {
        let bond = nic(&facts, "dtnt-bond-long");
        assert_eq!(bond.kind.as_deref(), Some("bond"));
        assert_eq!(bond.bond_mode.as_deref(), Some("active-backup"));
        assert_eq!(bond.members.as_deref(), Some(&[PORT.to_owned()][..]));
        assert_eq!(bond.active_member.as_deref(), Some(PORT));
        assert_eq!(nic(&facts, PORT).master.as_deref(), Some("dtnt-bond-long"));
    }
    if vlan {
        let vlan = nic(&facts, "dtnt-vlan-long");
        let found = (vlan.kind.as_deref(), vlan.vlan_id, vlan.parent.as_deref());
        assert_eq!(found, (Some("vlan"), Some(7), Some(PEER)));
    }
    if bridge {
        let bridge = nic(&facts, "dtnt-bridge-lon");
        assert_eq!(bridge.kind.as_deref(), Some("bridge"));
        assert_eq!(bridge.members.as_deref(), Some(&[PEER.to_owned()][..]));
    }
    if odd {
        // Down: the kernel refuses to tell its carrier.
        let odd = nic(&facts, "$(id);a&b");
        assert_eq!(odd.carrier, None);
        assert_eq!(odd.errors["carrier"], "/sys/class/net/$(id);a&b/carrier: EINVAL");
    }
}
