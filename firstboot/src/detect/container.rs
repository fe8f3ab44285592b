//! Are we inside a container, and whose? A container says nothing of the host beneath, and its devices are not ours.

use super::source::{ONE_TABLE, Source};

/// The container manager's name as `systemd-detect-virt --container` writes it; `None` outside of containers.
pub(super) fn name(source: &dyn Source) -> Option<String> {
    // systemd as the first process writes down what it found; else the managers leave marks of their own.
    source
        .sign("/run/systemd/container")
        .or_else(|| source.sign("/run/host/container-manager"))
        .or_else(|| of_first_process(source))
        .or_else(|| mark(source, "/run/.containerenv", "podman"))
        .or_else(|| mark(source, "/.dockerenv", "docker"))
}

fn mark(source: &dyn Source, path: &str, name: &str) -> Option<String> {
    source.exists(path).then(|| name.to_owned())
}

fn of_first_process(source: &dyn Source) -> Option<String> {
    // Readable by root only; who may not read it learns nothing from it, which is no failure of detection.
    let content = source.content("/proc/1/environ", ONE_TABLE).ok()?;
    container_of(&content.bytes)
}

fn container_of(environ: &[u8]) -> Option<String> {
    let mut values = environ
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.strip_prefix(b"container="));
    let value = values.next_back()?;
    let name = String::from_utf8(value.to_vec()).ok()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_names_its_container() {
        assert_eq!(container_of(b"HOME=/\0container=lxc\0TERM=x"), Some("lxc".into()));
        assert_eq!(container_of(b"HOME=/\0mycontainer=x\0container=\0"), None);
        assert_eq!(container_of(b""), None);
    }
}
