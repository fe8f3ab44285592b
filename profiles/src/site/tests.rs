//! What a site may say, and what it may not.

use super::*;

#[test]
fn the_nearer_file_wins_key_by_key() {
    let image: SiteFile = toml::from_str("role = 'dtn'\nrtt_ms = 50").unwrap();
    let node: SiteFile = toml::from_str("rtt_ms = 200").unwrap();
    let site = image.overlaid_by(node).check().unwrap();
    assert_eq!((site.role, site.rtt_ms), (Some(Role::Dtn), 200));
}

#[test]
fn the_name_of_a_role_is_its_serialised_form() {
    for role in Role::ALL {
        assert_eq!(serde_json::to_value(role).unwrap(), role.name());
        assert_eq!(Role::from_name(role.name()), Some(role));
    }
}

#[test]
fn a_value_out_of_range_names_its_key() {
    let file: SiteFile = toml::from_str("rtt_ms = 0").unwrap();
    assert_eq!(
        file.check().unwrap_err().to_string(),
        "key `rtt_ms`: 0 is out of range, expected 1 to 1000 ms"
    );
}

#[test]
fn a_node_tries_again_by_itself_only_after_boots_cut_short_unless_the_site_says_otherwise() {
    let policy = |text: &str| {
        let file: SiteFile = toml::from_str(text).unwrap();
        file.check().unwrap().retry_after_fallback
    };
    assert_eq!(policy(""), RetryAfterFallback::CutShort);
    assert_eq!(policy("retry_after_fallback = 'once'"), RetryAfterFallback::Once);
    assert_eq!(
        policy("retry_after_fallback = 'never'"),
        RetryAfterFallback::Never
    );
}

#[test]
fn the_place_of_metrics_is_an_absolute_path_and_no_part_of_what_a_commit_depends_on() {
    let file: SiteFile = toml::from_str("metrics_dir = '/var/lib/x'").unwrap();
    assert_eq!(file.metrics_dir().unwrap(), "/var/lib/x");
    assert_eq!(file.check().unwrap(), SiteFile::default().check().unwrap());
    for bad in ["x", "/a/../b", ""] {
        let file = SiteFile {
            metrics_dir: Some(bad.to_owned()),
            ..SiteFile::default()
        };
        let error = file.clone().check().unwrap_err().to_string();
        assert!(
            error.contains("key `metrics_dir`") && error.contains("absolute path"),
            "{error}"
        );
    }
}

#[test]
fn a_decision_that_cannot_be_right_is_refused() {
    for (toml, expected) in [
        (
            "mtu = 576",
            "key `mtu`: 576 is out of range, expected 1280 to 65535 byte",
        ),
        (
            "data_nics = ['eth0', '../x y']",
            "key `data_nics`: \"../x y\" is out of range, expected names of interfaces",
        ),
        (
            "pacing_mbps = 50000",
            "key `pacing_mbps`: 50000 is out of range, expected 1 to 34000 Mb/s",
        ),
        (
            "peers = ['dtn.example.org', '--help']",
            "key `peers`: [\"dtn.example.org\", \"--help\"] is out of range, expected HOST",
        ),
        (
            "storage_class = 'unknown'",
            "key `storage_class`: unknown is out of range, expected a class that is known",
        ),
    ] {
        let file: SiteFile = toml::from_str(toml).unwrap();
        let said = file.check().unwrap_err().to_string();
        assert!(said.starts_with(expected), "{said}");
    }
    let pause: SiteFile = toml::from_str("pause = 'on'").unwrap();
    assert_eq!(pause.check().unwrap().pause, Some(Switch::On));
}

#[test]
fn an_unknown_key_is_refused() {
    let error = toml::from_str::<SiteFile>("rol = 'dtn'").unwrap_err().to_string();
    assert!(error.contains("rol") && error.contains("role"), "{error}");
}
