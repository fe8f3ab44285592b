//! The catalog files, built into the program.

macro_rules! files {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../catalog/", $name))),)*]
    };
}

/// Each file of `catalog/`, by name.
pub(super) const FILES: &[(&str, &str)] = files![
    "base-metal.toml",
    "base-pace.toml",
    "base-serve.toml",
    "base-tcp.toml",
    "base-writeback.toml",
    "dtn-1g.toml",
    "dtn-anystore.toml",
    "dtn-disks.toml",
    "dtn-netstore.toml",
    "dtn-nvme.toml",
    "dtn-vm-vf.toml",
    "dtn-vm.toml",
    "perfsonar-vm.toml",
    "perfsonar.toml",
    "remote-processing-vm.toml",
    "remote-processing.toml",
    "stock.toml",
    "xrootd-frontend-vm.toml",
    "xrootd-frontend.toml",
];

#[cfg(test)]
mod tests {
    use super::FILES;

    #[test]
    fn every_file_of_the_directory_is_built_in() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog");
        let mut names: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".toml"))
            .collect();
        names.sort();
        assert_eq!(FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }
}
