//! Identifiers that follow from content, so that the same inputs give the same disk.

use dtnforge_profiles::digest::Digest;

/// The GPT type of the state partition: ours alone, so that growing it on a node touches nothing else.
/// `overlays/common/usr/lib/dtnforge/repart.d/50-state.conf` carries the same one.
pub const STATE_TYPE: &str = "9bd2fa56-8386-4139-8fac-394f5150d672";

/// A UUID for the thing `what` of the object with this digest.
pub fn of(what: &str, digest: &Digest) -> String {
    format(&Digest::of(format!("{what} {digest}").as_bytes()).as_str()[..32])
}

/// The UUIDs by which systemd finds the data and the hash partition of a verity device: the two halves of the root
/// hash. `None` when `root_hash` is no SHA-256.
pub fn of_root_hash(root_hash: &str) -> Option<(String, String)> {
    let digest = Digest::try_from(root_hash.to_owned()).ok()?;
    Some((format(&digest.as_str()[..32]), format(&digest.as_str()[32..])))
}

fn format(digits: &str) -> String {
    [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..32],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_of_a_root_hash_are_the_partition_ids() {
        let hash = "6356516473e95b4c5ac9da2931f68258d360867bc9ab7e91ad654d9ff9881b8e";
        let (data, hashes) = of_root_hash(hash).unwrap();
        assert_eq!(data, "63565164-73e9-5b4c-5ac9-da2931f68258");
        assert_eq!(hashes, "d360867b-c9ab-7e91-ad65-4d9ff9881b8e");
        assert_eq!(of_root_hash("63"), None);
    }

    #[test]
    fn the_node_grows_the_partition_that_the_builder_makes() {
        let definition = include_str!("../../../overlays/common/usr/lib/dtnforge/repart.d/50-state.conf");
        assert!(
            definition.contains(&format!("Type={STATE_TYPE}\n")),
            "{definition}"
        );
    }
}
