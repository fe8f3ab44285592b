//! The spec as written: nothing is required, an unknown key is an error.

use dtnforge_profiles::site::SiteFile;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// An image spec file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Written {
    /// [`super::SPEC_SCHEMA`].
    pub schema: Option<u32>,
    /// Another spec, whose keys hold where this one says nothing; relative to this file.
    pub extends: Option<PathBuf>,
    /// Name of the image and of its files.
    pub name: Option<String>,
    /// Lock file, relative to this file; without it the one beside the spec. Specs with the same packages that share
    /// one share all stages of the root.
    pub lock: Option<PathBuf>,
    /// Where the system comes from.
    pub base: Base,
    /// Which profiles the image carries.
    pub profiles: Profiles,
    /// What the site says; a seed or the node's own `site.toml` may say otherwise.
    pub site: SiteFile,
    /// How an administrator gets in when nothing else works.
    pub access: Access,
    /// The form of the image.
    pub image: Image,
}

/// `[base]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Base {
    /// Debian suite.
    pub suite: Option<String>,
    /// Address of an archive; without it the build host's own apt configuration says.
    pub mirror: Option<String>,
    /// Packages, beside those that every image needs.
    pub packages: Option<Vec<String>>,
    /// More packages, added to those of the spec that this one extends.
    pub extra_packages: Option<Vec<String>>,
}

/// `[profiles]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Profiles {
    /// Names, or `["*"]` for the whole catalog.
    pub include: Option<Vec<String>>,
    /// Directories of more profiles, relative to this file; a profile there replaces one of the same name.
    pub extra_catalogs: Option<Vec<PathBuf>>,
}

/// `[access]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// Hash of root's password, as crypt(5) makes it.
    pub root_password_hash: Option<String>,
    /// Public keys that may log in as root.
    pub ssh_authorized_keys: Option<Vec<String>>,
}

/// `[image]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Image {
    /// Host name until the site or a DHCP server says better.
    pub hostname: Option<String>,
    /// Values of `console=` on the kernel command line, the last one is the system console.
    pub console: Option<Vec<String>>,
    /// More words for the kernel command line.
    pub cmdline_extra: Option<Vec<String>>,
    /// More words for the command line of the entry that tunes; `stock` does not have them.
    pub tuned_cmdline_extra: Option<Vec<String>>,
    /// Size of the EFI system partition, MiB; 264 to 4096.
    pub esp_mib: Option<u32>,
    /// Size of the state partition in the image, MiB; 64 to 65536. It grows on the node.
    pub state_mib: Option<u32>,
    /// `raw`, `qcow2`.
    pub outputs: Option<Vec<String>>,
    /// Names of trees in `overlays/`, laid over the root in this order.
    pub overlays: Option<Vec<String>>,
}

impl Written {
    /// This spec with the keys of `nearer` laid over it: a key there replaces the whole value here.
    #[must_use]
    pub fn overlaid_by(self, nearer: Self) -> Self {
        let extra = self
            .base
            .extra_packages
            .into_iter()
            .chain(nearer.base.extra_packages)
            .flatten()
            .collect();
        Self {
            schema: nearer.schema.or(self.schema),
            extends: nearer.extends,
            name: nearer.name.or(self.name),
            lock: nearer.lock.or(self.lock),
            base: Base {
                suite: nearer.base.suite.or(self.base.suite),
                mirror: nearer.base.mirror.or(self.base.mirror),
                packages: nearer.base.packages.or(self.base.packages),
                extra_packages: Some(extra),
            },
            profiles: Profiles {
                include: nearer.profiles.include.or(self.profiles.include),
                extra_catalogs: nearer.profiles.extra_catalogs.or(self.profiles.extra_catalogs),
            },
            site: self.site.overlaid_by(nearer.site),
            access: Access {
                root_password_hash: nearer
                    .access
                    .root_password_hash
                    .or(self.access.root_password_hash),
                ssh_authorized_keys: nearer
                    .access
                    .ssh_authorized_keys
                    .or(self.access.ssh_authorized_keys),
            },
            image: self.image.overlaid_by(nearer.image),
        }
    }

    /// Makes the paths of the file at `spec` independent of it.
    pub(super) fn resolve_paths(&mut self, spec: &Path) {
        if let Some(lock) = &mut self.lock {
            *lock = super::beside(spec, lock);
        }
        for catalog in self.profiles.extra_catalogs.iter_mut().flatten() {
            *catalog = super::beside(spec, catalog);
        }
    }
}

impl Image {
    fn overlaid_by(self, nearer: Self) -> Self {
        Self {
            hostname: nearer.hostname.or(self.hostname),
            console: nearer.console.or(self.console),
            cmdline_extra: nearer.cmdline_extra.or(self.cmdline_extra),
            tuned_cmdline_extra: nearer.tuned_cmdline_extra.or(self.tuned_cmdline_extra),
            esp_mib: nearer.esp_mib.or(self.esp_mib),
            state_mib: nearer.state_mib.or(self.state_mib),
            outputs: nearer.outputs.or(self.outputs),
            overlays: nearer.overlays.or(self.overlays),
        }
    }
}
