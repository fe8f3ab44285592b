use super::*;
use crate::catalog::Catalog;
use crate::conclude::{SpeedClass, conclude};
use crate::digest::Digest;
use crate::facts::Facts;
use crate::plan::{make, offline_target};
use crate::published::{Audience, Library};
use crate::site::{Role, Site, SiteFile};

fn site() -> Site {
    SiteFile::default().check().unwrap()
}

fn profile(name: &str) -> Side {
    Side::of_profile(
        Catalog::embedded().unwrap().get(name).unwrap(),
        &site(),
        &Library::embedded().unwrap(),
    )
}

fn compared(left: &Side, right: &Side) -> Vec<Row> {
    compare(left, right, &Library::embedded().unwrap().defaults())
}

fn row<'a>(rows: &'a [Row], knob: &str) -> &'a Row {
    rows.iter()
        .find(|row| row.knob == knob)
        .unwrap_or_else(|| panic!("no {knob} in {rows:?}"))
}

fn values(row: &Row) -> (Option<&str>, Option<&str>) {
    fn text(setting: &Option<Setting>) -> Option<&str> {
        setting.as_ref()?.value.as_ref().map(crate::value::Value::as_str)
    }
    (text(&row.left), text(&row.right))
}

#[test]
fn two_profiles_differ_in_the_formula_and_in_what_they_are_for() {
    let rows = compared(&profile("dtn-25g-nvme"), &profile("dtn-100g-nvme"));
    let rmem = row(&rows, "sysctl:net.ipv4.tcp_rmem");
    assert_eq!(
        values(rmem),
        (Some("4096 131072 100663296"), Some("4096 131072 402653184"))
    );
    assert!(
        rmem.left
            .as_ref()
            .unwrap()
            .why
            .contains("25000 Mb/s x 100 ms / 8 / 8 streams"),
        "{rmem:?}"
    );
    assert_eq!(values(row(&rows, "match.links")), (Some("25G"), Some("100G")));
    assert!(row(&rows, "sysctl:vm.swappiness").same());
    assert!(!rmem.same());
}

#[test]
fn a_publication_is_compared_by_role_and_link() {
    let library = Library::embedded().unwrap();
    let published = library.get("osg-script").unwrap();
    let host = Audience {
        role: Some(Role::Dtn),
        link: Some(SpeedClass::G100),
    };
    let theirs = Side::of_published(published, published.for_host(host, 100).unwrap());
    let rows = compared(&profile("dtn-100g-nvme"), &theirs);
    assert_eq!(
        values(row(&rows, "sysctl:net.core.rmem_max")),
        (Some("402653184"), Some("2147483647"))
    );
    assert_eq!(
        values(row(&rows, "sysctl:net.core.rmem_default")),
        (Some("212992"), Some("536870911"))
    );
    assert!(row(&rows, "sysctl:net.core.default_qdisc").same());
    // Left alone by us, and the kernel does it by itself.
    assert!(row(&rows, "sysctl:net.ipv4.tcp_timestamps").same());
    assert!(rows.iter().all(|row| !row.knob.starts_with("match.")), "{rows:?}");
}

#[test]
fn a_file_of_the_site_is_read_and_a_bad_line_is_named() {
    let theirs = Side::of_sysctl_d("90-site.conf", "vm.swappiness = 10\nnet.ipv4.tcp_sack = 0\n").unwrap();
    let rows = compared(&profile("dtn-100g-nvme"), &theirs);
    assert!(row(&rows, "sysctl:vm.swappiness").same());
    let sack = row(&rows, "sysctl:net.ipv4.tcp_sack");
    assert_eq!(
        (values(sack), sack.right.as_ref().unwrap().source.as_str()),
        ((Some("1"), Some("0")), "90-site.conf:2")
    );
    let error = Side::of_sysctl_d("90-site.conf", "vm.swappiness 10\n").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("line 1: \"vm.swappiness 10\" is no assignment")
    );
}

#[test]
fn on_a_host_what_is_said_of_every_data_port_stands_at_each_of_them() {
    let facts: Facts = toml::from_str(
        "[host]\nmemory_gib = 256.0\n[[nic]]\nname = 'eth0'\nkind = 'physical'\ncarrier = true\nspeed_mbps = 100000\n\
         pci_slot = '0000:01:00.0'\nmac = '52:54:00:aa:bb:01'\nrings = { rx = 1024, rx_max = 1500 }\n",
    )
    .unwrap();
    let seen = conclude(&facts, &site());
    let catalog = Catalog::embedded().unwrap();
    let ours = catalog.get("dtn-100g-nvme").unwrap();
    let plan = make(
        ours,
        &Digest::of(b""),
        &facts,
        &seen,
        &site(),
        &offline_target(&facts),
    );
    let library = Library::embedded().unwrap();
    let published = library.get("fasterdata-100g").unwrap();
    let host = Audience {
        role: Some(Role::Dtn),
        link: Some(SpeedClass::G100),
    };
    let theirs = Side::of_published(published, published.for_host(host, 100).unwrap());
    let rows = compared(&Side::of_plan(&plan), &theirs);
    let ring = row(&rows, "nic/0000:01:00.0+52:54:00:aa:bb:01:ring.rx");
    assert_eq!(values(ring), (Some("1500"), Some("8192")));
    let why = &ring.left.as_ref().unwrap().why;
    assert!(
        why.ends_with("; lowered from 2048: the device takes 1500 at most"),
        "{why}"
    );
    // Pause frames are the site's decision, and this one has not decided.
    let pause = row(&rows, "nic/0000:01:00.0+52:54:00:aa:bb:01:pause.rx");
    assert_eq!(values(pause), (None, Some("on")));
}
