//! Mounts.

use serde_json::Value;

facts! {
    /// A mount.
    Mount {
        /// File system type.
        fstype: String,
        /// What the source is.
        source_kind: String,
        /// What the mount is for (`data...`, `root`, `home`, `software`).
        target_role: String,
        /// Mount point; on our own facts only.
        target: String,
        /// Size in the words of the source.
        size: String,
        /// Disks that it lies on; on our own facts only.
        disks: Vec<String>,
        /// Options.
        options: Value,
        /// Lines of /proc/self/mountstats.
        mountstats: Value,
    }
}
