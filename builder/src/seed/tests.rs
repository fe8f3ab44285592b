//! What a table of nodes may say, what is said about a mistake, and what a node is told.

use super::*;
use serde_json::Value;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILg6wUKtGCI8D1GE6Ht2xbnbPJchAF7pAIImjC17818A";
const HASH: &str = "$6$rounds=656000$saltsalt$hash./ABC";

fn nodes(text: &str) -> Result<Vec<Node>, String> {
    parse(Path::new("nodes.toml"), &format!("schema = 1\n{text}")).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    nodes(text).unwrap_err()
}

/// One node with these lines for its interfaces.
fn with_network(interfaces: &str) -> String {
    format!("[[node]]\nname = 'a'\n{interfaces}")
}

fn port(name: &str, number: u8, lines: &str) -> String {
    format!("[[node.interface]]\nname = '{name}'\nmac = '52:54:00:00:00:0{number}'\n{lines}\n")
}

fn seed(text: &str) -> Seed {
    Seed::of(&nodes(text).unwrap()[0]).unwrap()
}

fn file(seed: &Seed, name: &str) -> Value {
    let (_, text) = seed.files.iter().find(|(file, _)| *file == name).unwrap();
    let json: String = text.lines().filter(|line| !line.starts_with('#')).collect();
    serde_json::from_str(&json).unwrap()
}

#[test]
fn a_mistake_is_named_with_file_line_and_key() {
    let long = "x".repeat(16);
    for (text, expected) in [
        (
            "[[node]]\nname = 'A b'",
            "nodes.toml:3: key `node[0].name`: found \"A b\", expected a host name",
        ),
        (
            "[[node]]\nnam = 'a'",
            "nodes.toml:3: key `node[0].nam`: unknown field `nam`",
        ),
        (
            "",
            "nodes.toml: key `node`: there is none\nhint: each node is a table [[node]]",
        ),
        (
            "[[node]]\nname = 'a'\n[node.site]\nrtt_ms = 0",
            "nodes.toml:5: key `node[0].site.rtt_ms`: 0 is out of range",
        ),
        (
            "[defaults.site]\nmtu = 5\n[[node]]\nname = 'a'",
            "nodes.toml:3: key `defaults.site.mtu`: 5 is out of range",
        ),
        (
            "[defaults]\ndns = ['x']\n[[node]]\nname = 'a'",
            "nodes.toml:3: key `defaults.dns`: found \"x\", expected the address",
        ),
        (
            "[[node]]\nname = 'a'\nntp = ['-x']",
            "key `node[0].ntp`: found \"-x\", expected the name or address",
        ),
        (
            "[[node]]\nname = 'a'\nsearch = ['a b']",
            "key `node[0].search`: found \"a b\", expected a domain",
        ),
        (
            "[[node]]\nname = 'a'\nserial = '../x'",
            "key `node[0].serial`: found \"../x\", expected a serial number",
        ),
        (
            &with_network(&port(&long, 1, "")),
            "nodes.toml:5: key `node[0].interface[0].name`: found \"xxxx",
        ),
        (
            &with_network(&port("eth0", 1, "")),
            "hint: such as `data0`: a port may be called eth0",
        ),
        (
            &with_network(&port("d0", 1, "mtu = 100")),
            "key `node[0].interface[0].mtu`: 100 is out of range, expected 1280",
        ),
        (
            &with_network(&port("d0", 1, "addresses = ['192.0.2.0/24']")),
            "addresses`: found \"192.0.2.0/24\", expected an address of one host",
        ),
        (
            &with_network(&port(
                "d0",
                1,
                "addresses = ['192.0.2.9/24']\ngateway4 = '192.0.3.1'",
            )),
            "gateway4`: found \"192.0.3.1\", expected a router in a network",
        ),
        (
            &with_network(&port("d0", 1, "table = 254")),
            "table`: found \"254\", expected 1 to 4294967295 without 253 to 255",
        ),
        (
            &with_network("[[node.interface]]\nname = 'd0'"),
            "key `node[0].interface[0]`: expected one of: `mac` (a port)",
        ),
        (
            &with_network("[[node.interface]]\nname = 'd0'\nmac = '01:00:5e:00:00:01'"),
            "expected the MAC address of one port",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains(expected), "{text}\n{said}");
    }
}

#[test]
fn a_mistake_in_what_interfaces_make_together_is_named() {
    let two = |first: &str, second: &str| with_network(&(port("d0", 1, first) + &port("d1", 2, second)));
    let bond = |members: &str| {
        two("", "")
            + &format!("[[node.interface]]\nname = 'b0'\nmembers = {members}\naddresses = ['192.0.2.9/24']\n")
    };
    let vlan = |lines: &str| with_network(&(port("d0", 1, "") + "[[node.interface]]\nname = 'v'\n" + lines));
    let way = |last: u8| format!("addresses = ['192.0.{last}.9/24']\ngateway4 = '192.0.{last}.1'");
    for (text, expected) in [
        (
            with_network(&(port("d0", 1, "") + &port("d0", 2, ""))),
            "interface[1].name`: the node has two interfaces `d0`",
        ),
        (
            bond("['d0', 'd2']"),
            "expected the name of a port of this node\nhint: did you mean `d0`?",
        ),
        (bond("['d0', 'd0']"), "members`: the port `d0` is named twice"),
        (
            two("dhcp4 = true", "") + "[[node.interface]]\nname = 'b'\nmembers = ['d0']",
            "has addresses or routes of its own\nhint: give them to the bond",
        ),
        (
            vlan("vlan = 5000\nlink = 'd0'"),
            "vlan`: 5000 is out of range, expected 1 to 4094",
        ),
        (
            vlan("vlan = 5\nlink = 'dx'"),
            "expected the name of a bond, or of a port in no bond",
        ),
        (
            vlan("vlan = 5\nlink = 'd0'\nmtu = 9000"),
            "9000 does not fit into `d0`, whose mtu is 1500",
        ),
        (
            two(&way(2), &way(3)),
            "interface[1].gateway4`: `d0` has a gateway of this family already\nhint: give each of them a `table`",
        ),
        (
            two(&(way(2) + "\ntable = 7"), &(way(3) + "\ntable = 7")),
            "another interface of this node has the same table",
        ),
        (
            two("mtu = 9000", "") + "[node.site]\nmtu = 1500",
            "site.mtu`: is not the mtu of the interface `d0`",
        ),
        (
            two("", "") + "[node.site]\ndata_nics = ['d01']",
            "expected the name of an interface of this node\nhint: did you mean",
        ),
        (
            with_network(&port("d0", 1, "rules = [{ table = 5 }]")),
            "expected `from`, `to` or both, of one family",
        ),
        (
            with_network(&port("d0", 1, "rules = [{ from = '192.0.2.1/24', table = 5 }]")),
            "hint: did you mean `192.0.2.0/24`?",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(expected), "{text}\n{said}");
    }
}

#[test]
fn what_only_one_node_can_have_is_refused_at_the_second() {
    let node = |name: &str, serial: &str, number: u8, address: &str| {
        let network = port("d0", number, &format!("addresses = ['{address}/24']"));
        format!("[[node]]\nname = '{name}'\nserial = '{serial}'\n{network}")
    };
    let first = node("a", "S1", 1, "192.0.2.1");
    for (second, expected) in [
        (
            node("a", "S2", 2, "192.0.2.2"),
            "key `node[1].name`: the name a is in the table twice, first at node `a`",
        ),
        (
            node("b", "S1", 2, "192.0.2.2"),
            "key `node[1].serial`: the serial S1 is in the table twice",
        ),
        (
            node("b", "S2", 1, "192.0.2.2"),
            "key `node[1].interface[0].mac`: the MAC address 52:54:00:00:00:01 is",
        ),
        (
            node("b", "S2", 2, "192.0.2.1"),
            "key `node[1].interface[0].addresses`: the address 192.0.2.1 is",
        ),
    ] {
        let said = refused(&(first.clone() + &second));
        assert!(said.contains(expected), "{said}");
    }
    let both = nodes(&(first + &node("b", "S2", 2, "192.0.2.2"))).unwrap();
    let ids: Vec<String> = both
        .iter()
        .map(|node| Seed::of(node).unwrap().instance_id)
        .collect();
    assert!(ids[0].starts_with("a-") && ids[1].starts_with("b-"), "{ids:?}");
}

#[test]
fn a_plain_password_and_a_private_key_are_refused_and_not_shown() {
    for (line, expected) in [
        (
            "root_password_hash = 'hunter2'",
            "`mkpasswd --method=yescrypt` makes one",
        ),
        (
            "ssh_authorized_keys = ['-----BEGIN hunter2']",
            "is not one public key without options",
        ),
    ] {
        let said = refused(&format!("[defaults]\n{line}\n[[node]]\nname = 'a'"));
        assert!(said.contains(expected) && !said.contains("hunter2"), "{said}");
        assert!(said.contains("nodes.toml:3: key `defaults."), "{said}");
    }
}

#[test]
fn the_instance_id_follows_the_content() {
    let one = seed("[[node]]\nname = 'a'");
    assert_eq!(one, seed("[[node]]\nname = 'a'"));
    assert_ne!(
        one.instance_id,
        seed("[[node]]\nname = 'a'\nntp = ['t.example.org']").instance_id
    );
    let meta = file(&one, "meta-data");
    assert_eq!(
        (meta["instance-id"].as_str(), meta["local-hostname"].as_str()),
        (Some(one.instance_id.as_str()), Some("a"))
    );
}

#[test]
fn keys_hash_and_site_are_for_root_and_the_agent() {
    let text = format!(
        "[defaults]\nssh_authorized_keys = ['{KEY} it''s \"me\"']\nroot_password_hash = '{HASH}'\ndomain = 'example.org'\n\
         [defaults.site]\nrole = 'dtn'\nrtt_ms = 50\n[[node]]\nname = 'a'\n[node.site]\nrtt_ms = 70"
    )
    .replace("it''s", "its");
    let seed = seed(&text);
    assert!(seed.secret && !seed.needs_netplan);
    let (_, raw) = &seed.files[1];
    assert!(
        raw.starts_with("#cloud-config\n# Made by `dtnforge seed`"),
        "{raw}"
    );
    let data = file(&seed, "user-data");
    assert_eq!(data["ssh_authorized_keys"][0], format!("{KEY} its \"me\""));
    assert_eq!(data["chpasswd"]["users"][0]["password"], HASH);
    assert_eq!(data["fqdn"], "a.example.org");
    assert_eq!(data["write_files"][0]["path"], "/etc/dtnforge/site.toml");
    let site: dtnforge_profiles::site::SiteFile =
        toml::from_str(data["write_files"][0]["content"].as_str().unwrap()).unwrap();
    assert_eq!((site.schema, site.rtt_ms), (Some(1), Some(70)));
    assert_eq!(seed.files.len(), 2, "no network in the table, none in the seed");
}

#[test]
fn each_address_of_a_node_with_two_networks_answers_by_its_own_gateway() {
    let network = |number: u8| {
        format!(
            "addresses = ['192.0.{number}.9/24', '2001:db8:{number}::9/64']\ngateway4 = '192.0.{number}.1'\n\
                 gateway6 = 'fe80::1'\ntable = 10{number}"
        )
    };
    let seed = seed(&with_network(
        &(port("d1", 1, &network(1)) + &port("d2", 2, &network(2))),
    ));
    assert!(seed.needs_netplan);
    let config = file(&seed, "network-config");
    let second = &config["network"]["ethernets"]["d2"];
    let expected = serde_json::json!([
        { "to": "0.0.0.0/0", "via": "192.0.2.1", "metric": 200 },
        { "to": "0.0.0.0/0", "via": "192.0.2.1", "table": 102 },
        { "to": "::/0", "via": "fe80::1", "metric": 200 },
        { "to": "::/0", "via": "fe80::1", "table": 102 },
    ]);
    assert_eq!(second["routes"], expected);
    let expected = serde_json::json!([
        { "from": "192.0.2.9", "to": "192.0.2.0/24", "table": 254, "priority": 10004 },
        { "from": "192.0.2.9", "table": 102, "priority": 10005 },
        { "from": "2001:db8:2::9", "to": "2001:db8:2::/64", "table": 254, "priority": 10006 },
        { "from": "2001:db8:2::9", "table": 102, "priority": 10007 },
    ]);
    assert_eq!(second["routing-policy"], expected);
    let sysctl = &file(&seed, "user-data")["write_files"][1];
    assert_eq!(sysctl["path"], "/etc/sysctl.d/60-dtnforge-seed.conf");
    assert!(
        sysctl["content"]
            .as_str()
            .unwrap()
            .contains("net.ipv4.conf.all.rp_filter = 2\n")
    );
}

#[test]
fn a_bond_gives_its_mtu_to_its_ports_and_carries_the_vlan() {
    let text = with_network(&(port("p0", 1, "") + &port("p1", 2, "")))
        + "[[node.interface]]\nname = 'bond0'\nmembers = ['p0', 'p1']\nmtu = 9000\n\
           [[node.interface]]\nname = 'v'\nvlan = 120\nlink = 'bond0'\nmtu = 9000\ndhcp4 = true\n";
    let config = file(&seed(&text), "network-config");
    let network = &config["network"];
    assert_eq!(network["ethernets"]["p1"]["mtu"], 9000);
    assert_eq!(
        network["ethernets"]["p1"]["match"]["macaddress"],
        "52:54:00:00:00:02"
    );
    assert_eq!(network["ethernets"]["p1"]["accept-ra"], false);
    assert_eq!(
        network["bonds"]["bond0"]["interfaces"],
        serde_json::json!(["p0", "p1"])
    );
    assert_eq!(network["bonds"]["bond0"]["parameters"]["mode"], "802.3ad");
    assert_eq!(network["vlans"]["v"]["id"], 120);
}

#[test]
fn outputs_are_replaced_whole_and_those_of_others_never() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let plain = [seed("[[node]]\nname = 'a'")];
    let secret = [seed(&format!(
        "[[node]]\nname = 'a'\nroot_password_hash = '{HASH}'"
    ))];
    let mode = |path: &str| home.path().join(path).metadata().unwrap().permissions().mode() & 0o777;
    for (format, file) in [(Format::Dir, "a/user-data"), (Format::Iso, "a.iso")] {
        output::write(&plain, format, home.path(), None).unwrap();
        assert_eq!(mode(file), 0o644);
        let made = output::write(&secret, format, home.path(), None).unwrap();
        assert_eq!(mode(file), 0o600);
        assert!(made[0].secret);
    }
    std::fs::write(home.path().join("a/notes"), "mine").unwrap();
    std::fs::write(home.path().join("a.iso"), "mine").unwrap();
    for format in [Format::Dir, Format::Iso] {
        let said = output::write(&plain, format, home.path(), None)
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("was not made by `dtnforge seed`\nhint: move it away"),
            "{said}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(home.path().join("a.iso")).unwrap(),
        "mine"
    );
    let left: Vec<_> = fsx_names(home.path());
    assert_eq!(left, ["a", "a.iso"], "nothing half made is left");
}

fn fsx_names(path: &Path) -> Vec<String> {
    let entries = crate::fsx::list(path).unwrap();
    entries
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_http_form_is_found_by_serial_and_names_its_kernel_words() {
    let home = tempfile::tempdir().unwrap();
    let seeds = [seed("[[node]]\nname = 'a'\nserial = 'S1'")];
    let made = output::write(&seeds, Format::Http, home.path(), Some("http://192.0.2.1:8080/")).unwrap();
    assert_eq!(
        made[0].kernel_words.as_deref(),
        Some("ds=nocloud;s=http://192.0.2.1:8080/S1/")
    );
    let set = crate::serve::Set::open(home.path()).unwrap();
    for name in ["meta-data", "user-data", "vendor-data"] {
        assert!(set.has(&format!("/S1/{name}")), "{name}");
    }
}
