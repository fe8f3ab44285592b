//! Classes of links and of data stores, as profiles name them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Writes an enum whose variants have one name each, used in files and on the command line.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: [$name; [$($text),*].len()] = [$($name::$variant),*];

            /// The name used in files and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// The one with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named! {
    /// Class of the speed of one flow, from the negotiated speed.
    SpeedClass {
        /// 100 Mb/s.
        M100 = "100M",
        /// 1 Gb/s.
        G1 = "1G",
        /// 10 Gb/s.
        G10 = "10G",
        /// 25 Gb/s.
        G25 = "25G",
        /// 40 Gb/s.
        G40 = "40G",
        /// 50 Gb/s.
        G50 = "50G",
        /// 100 Gb/s.
        G100 = "100G",
        /// 200 Gb/s.
        G200 = "200G",
        /// 400 Gb/s.
        G400 = "400G",
        /// Not known.
        Unknown = "unknown",
    }
}

named! {
    /// Class of what holds the data.
    StorageClass {
        /// Local NVMe drives.
        Nvme = "nvme",
        /// Other local solid-state drives.
        Ssd = "ssd",
        /// Local spinning disks.
        Hdd = "hdd",
        /// NFS.
        Nfs = "nfs",
        /// NFS with a layout from the server: data goes to several servers.
        Pnfs = "pnfs",
        /// CephFS.
        CephFs = "cephfs",
        /// Lustre.
        Lustre = "lustre",
        /// BeeGFS.
        BeeGfs = "beegfs",
        /// Not known.
        Unknown = "unknown",
    }
}

impl SpeedClass {
    /// The fastest class that `mbps` Mb/s reaches: 20000 is a 10G class link, and less than 100 is none.
    pub fn of(mbps: u32) -> Self {
        let reached = |class: &Self| class.mbps().is_some_and(|floor| mbps >= floor);
        // They stand in ascending order.
        Self::ALL.into_iter().rev().find(reached).unwrap_or(Self::Unknown)
    }

    /// The speed that the class is named for, Mb/s; none for [`SpeedClass::Unknown`].
    pub fn mbps(self) -> Option<u32> {
        match self {
            Self::M100 => Some(100),
            Self::G1 => Some(1_000),
            Self::G10 => Some(10_000),
            Self::G25 => Some(25_000),
            Self::G40 => Some(40_000),
            Self::G50 => Some(50_000),
            Self::G100 => Some(100_000),
            Self::G200 => Some(200_000),
            Self::G400 => Some(400_000),
            Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_between_classes_is_of_the_lower_one() {
        assert_eq!(SpeedClass::of(100_000), SpeedClass::G100);
        assert_eq!(SpeedClass::of(56_000), SpeedClass::G50);
        assert_eq!(SpeedClass::of(2_500), SpeedClass::G1);
        assert_eq!(SpeedClass::of(10), SpeedClass::Unknown);
        assert_eq!(SpeedClass::of(u32::MAX), SpeedClass::G400);
        for class in SpeedClass::ALL {
            assert_eq!(class.mbps().map_or(SpeedClass::Unknown, SpeedClass::of), class);
        }
    }

    #[test]
    fn the_name_is_the_serialised_form() {
        for class in StorageClass::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }
}
