//! Kernel modules that a plan needs, loaded before its first write.

use super::report::ModuleFailure;
use crate::host::Host;
use std::time::Duration;

/// Time to load one module.
const PATIENCE: Duration = Duration::from_secs(30);

/// Loads each module that is not there yet; returns those that could not be loaded. A module that is built into the
/// kernel counts as loaded, for `modprobe` as well.
pub(super) fn load(host: &Host, modules: &[String]) -> Vec<ModuleFailure> {
    let failure = |module: &String| {
        load_one(host, module).err().map(|why| ModuleFailure {
            module: module.clone(),
            why,
        })
    };
    modules.iter().filter_map(failure).collect()
}

fn load_one(host: &Host, module: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if module.is_empty() || module.starts_with('-') || !module.chars().all(plain) {
        return Err("that is no name of a module".to_owned());
    }
    if host
        .path(&format!("/sys/module/{}", module.replace('-', "_")))
        .is_dir()
    {
        return Ok(());
    }
    host.run("modprobe", &[module], PATIENCE)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_module_needs_no_modprobe_and_a_missing_one_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sys/module/tcp_bbr")).unwrap();
        let host = Host::at(dir.path(), Some(dir.path()));
        let failed = load(&host, &["tcp-bbr".into(), "sch_fq".into(), "-r".into()]);
        let failed: Vec<_> = failed
            .iter()
            .map(|failure| (failure.module.as_str(), failure.why.as_str()))
            .collect();
        assert_eq!(failed[0].0, "sch_fq");
        assert!(failed[0].1.starts_with("cannot run modprobe"), "{failed:?}");
        assert_eq!(failed[1], ("-r", "that is no name of a module"));
    }
}
