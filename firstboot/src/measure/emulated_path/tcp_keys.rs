//! TCP settings are per network namespace. A new namespace takes some from the host's first one and starts others from
//! the kernel's defaults, so every round copies what is live on the host into both ends and reads it back.
//!
//! That way the caller switches arms by really applying and undoing the plan on the host, and a round measures what
//! is live there. Settings that are global (`net.core.rmem_max`, `net.ipv4.tcp_mem`, `net.core.netdev_max_backlog`)
//! act inside a namespace anyway; they have no file there, or the same one.

use super::names::{RECEIVER, SENDER};
use super::namespace::{file_error, inside, read, write};
use crate::host::Host;
use crate::measure::MeasureError;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The keys that shape a stream, under `net.ipv4.`: buffers, congestion control, pacing, loss recovery, options.
/// A key that a kernel does not have, or does not have per namespace, is left out.
pub(super) const TCP_KEYS: [&str; 31] = [
    "tcp_adv_win_scale",
    "tcp_autocorking",
    "tcp_base_mss",
    "tcp_comp_sack_delay_ns",
    "tcp_comp_sack_nr",
    "tcp_comp_sack_slack_ns",
    "tcp_congestion_control",
    "tcp_dsack",
    "tcp_early_retrans",
    "tcp_ecn",
    "tcp_ecn_fallback",
    "tcp_frto",
    "tcp_limit_output_bytes",
    "tcp_min_tso_segs",
    "tcp_moderate_rcvbuf",
    "tcp_mtu_probing",
    "tcp_no_metrics_save",
    "tcp_notsent_lowat",
    "tcp_pacing_ca_ratio",
    "tcp_pacing_ss_ratio",
    "tcp_recovery",
    "tcp_reordering",
    "tcp_rmem",
    "tcp_sack",
    "tcp_shrink_window",
    "tcp_slow_start_after_idle",
    "tcp_timestamps",
    "tcp_tso_rtt_log",
    "tcp_tso_win_divisor",
    "tcp_window_scaling",
    "tcp_wmem",
];

/// Values by dotted key, white space made single blanks.
pub(super) type Values = BTreeMap<String, String>;

/// Copies the host's live values into both ends.
///
/// Returns what was read back at the receiver; the sender's is the same, or this fails.
pub(super) fn copy(host: &Host) -> Result<Values, MeasureError> {
    let live = read_all(&host.path("/proc/sys/net/ipv4"))?;
    let mut seen = Values::new();
    for namespace in [SENDER, RECEIVER] {
        // Inside a namespace the kernel's own /proc is meant, whatever the root of the host.
        seen = inside(host, namespace, || {
            install(Path::new("/proc/sys/net/ipv4"), namespace, &live)
        })?;
    }
    Ok(seen)
}

fn read_all(directory: &Path) -> Result<Values, MeasureError> {
    let mut values = Values::new();
    for key in TCP_KEYS {
        if let Some(value) = read_key(&directory.join(key))? {
            values.insert(dotted(key), value);
        }
    }
    Ok(values)
}

/// Writes what differs, and reads everything back.
fn install(directory: &Path, namespace: &'static str, live: &Values) -> Result<Values, MeasureError> {
    let mut seen = Values::new();
    for (key, value) in live {
        let path = file(directory, key);
        let Some(before) = read_key(&path)? else { continue };
        if before != *value {
            write(&path, value)?;
        }
        let inside = normal(&read(&path)?);
        if inside != *value {
            return Err(MeasureError::NotLive {
                key: key.clone(),
                namespace,
                host: value.clone(),
                inside,
            });
        }
        seen.insert(key.clone(), inside);
    }
    Ok(seen)
}

fn read_key(path: &Path) -> Result<Option<String>, MeasureError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(normal(&text))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(path, error)),
    }
}

/// Vectors are printed with tabs and written with blanks.
fn normal(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn dotted(key: &str) -> String {
    format!("net.ipv4.{key}")
}

fn file(directory: &Path, dotted: &str) -> PathBuf {
    directory.join(dotted.trim_start_matches("net.ipv4."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(keys: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (key, value) in keys {
            std::fs::write(dir.path().join(key), value).unwrap();
        }
        dir
    }

    #[test]
    fn live_values_are_written_where_they_differ_and_read_back() {
        let live =
            read_all(tree(&[("tcp_rmem", "4096\t131072\t67108864\n"), ("tcp_sack", "1\n")]).path()).unwrap();
        let namespace = tree(&[("tcp_rmem", "4096\t131072\t6291456\n"), ("tcp_sack", "1\n")]);
        let seen = install(namespace.path(), SENDER, &live).unwrap();
        assert_eq!(seen["net.ipv4.tcp_rmem"], "4096 131072 67108864");
        assert_eq!(seen["net.ipv4.tcp_sack"], "1");
        let written = std::fs::read_to_string(namespace.path().join("tcp_rmem")).unwrap();
        assert_eq!(written, "4096 131072 67108864");
        // Equal values are not written again: the line end of the kernel is still there.
        assert_eq!(
            std::fs::read_to_string(namespace.path().join("tcp_sack")).unwrap(),
            "1\n"
        );
    }

    #[test]
    fn keys_that_are_not_per_namespace_are_left_out() {
        let live = read_all(tree(&[("tcp_sack", "1\n"), ("tcp_recovery", "1\n")]).path()).unwrap();
        let seen = install(tree(&[("tcp_sack", "0\n")]).path(), SENDER, &live).unwrap();
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["net.ipv4.tcp_sack"]);
    }

    #[test]
    fn a_value_that_does_not_stick_names_the_key_and_both_values() {
        let live = Values::from([("net.ipv4.tcp_sack".to_owned(), "1".to_owned())]);
        let namespace = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/null", namespace.path().join("tcp_sack")).unwrap();
        let error = install(namespace.path(), SENDER, &live).unwrap_err().to_string();
        assert_eq!(
            error,
            "net.ipv4.tcp_sack in namespace dtnf-snd is \"\" after writing \"1\", the host's own value"
        );
    }

    #[test]
    fn the_list_is_sorted_and_free_of_repeats() {
        assert!(TCP_KEYS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
