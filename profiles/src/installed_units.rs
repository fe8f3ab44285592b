//! The units of the agent on a host that is no image of ours: those of the image that make sense without its boot
//! counter, and what tuned needs. They are part of both programs: one places them, the other packs them.

/// The program that the units start, as their texts name it.
pub const PROGRAM: &str = "/usr/bin/dtn-firstboot";

/// A unit, or a drop-in of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Path in a directory of units.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The target that wants it.
    pub wanted_by: Option<&'static str>,
}

macro_rules! overlay {
    ($path:expr) => {
        include_str!(concat!("../../overlays/", $path))
    };
}

macro_rules! unit {
    ($overlay:literal, $name:literal, $wanted_by:expr) => {
        Unit {
            name: $name,
            text: overlay!(concat!($overlay, "/usr/lib/systemd/system/", $name)),
            wanted_by: $wanted_by,
        }
    };
}

/// All of them.
pub const UNITS: [Unit; 6] = [
    unit!("agent", "dtn-firstboot-early.service", Some("sysinit.target")),
    unit!("agent", "dtn-firstboot.service", Some("multi-user.target")),
    unit!("agent", "dtn-verdict.service", None),
    unit!("agent", "dtnforge-verdict@.target", None),
    unit!("installed", "dtn-tuned.service", Some("multi-user.target")),
    unit!("installed", "tuned.service.d/60-dtnforge.conf", None),
];

/// The generator that orders the services of a site: an executable in a directory of generators.
pub const GENERATOR: &str = overlay!("agent/usr/lib/systemd/system-generators/dtnforge-services");
/// Its name there.
pub const GENERATOR_NAME: &str = "dtnforge-services";

/// What `journalctl -x` says of our events. systemd reads it below `/usr` only, so that a package has it.
pub const CATALOG: &str = overlay!("agent/usr/lib/systemd/catalog/dtnforge.catalog");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_wanted_as_its_own_install_section_says() {
        for unit in UNITS {
            let says = unit.text.lines().find_map(|line| line.strip_prefix("WantedBy="));
            assert_eq!(says, unit.wanted_by, "{}", unit.name);
        }
    }

    #[test]
    fn every_program_of_ours_is_named_by_the_same_path() {
        for text in UNITS.map(|unit| unit.text).into_iter().chain([GENERATOR]) {
            let named = text
                .split_whitespace()
                .filter(|word| word.contains("/dtn-firstboot"));
            for word in named {
                assert!(word.ends_with(PROGRAM), "{word}");
            }
        }
    }
}
