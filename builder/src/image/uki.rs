//! Stage `uki`: two unified kernel images from one kernel and one initrd. `dtnforge` tunes and is counted down by
//! systemd-boot until a boot is good; `stock` never tunes. What differs is `IMAGE_ID` in their os-release (with equal
//! ones systemd-boot would sort `stock` first, always) and `dtnforge.mode` on the command line.

use super::disk::seen_inside;
use super::{Context, cpio, root, uuid};
use crate::fsx;
use crate::spec::Spec;
use crate::stage::{Inputs, Made, Pipeline, StageError, Work};
use std::path::Path;

const CODE: u32 = 4;
const LAYERS_UNIT: &str = "etc/systemd/system/dtn-layers.service";
/// Where udev names partitions by their unique ids.
pub(super) const PARTITIONS: &str = "/dev/disk/by-partuuid";
/// The two entries: file, `IMAGE_ID`, mode.
pub const ENTRIES: [(&str, &str, Mode); 2] = [
    ("dtnforge.efi", "dtnforge", Mode::Tuned),
    ("stock.efi", "stock", Mode::Stock),
];
/// Words of both entries. No shell in the initrd that waits for somebody: root is locked there.
pub(super) const COMMON: [&str; 2] = ["panic=10", "rd.shell=0"];
/// Whatever kills a tuned boot must end in a reboot, so that it is counted: a damaged block of the root, a fault of
/// the kernel that it would survive by half, a dead init, an initrd that cannot go on.
const TUNED: [&str; 5] = [
    "rd.timeout=90",
    "systemd.verity_root_options=panic-on-corruption",
    "oops=panic",
    "systemd.crash_action=reboot",
    "rd.emergency=reboot",
];
/// Nothing is left to fall back to: what cannot go on stays where it is and says so (the initrd reads the whole root
/// first, see `dtn-root-check.service`), for a reboot would only come here again. So a slow disk is waited for longer.
const STOCK: [&str; 2] = ["rd.timeout=300", "rd.emergency=halt"];

/// What an entry does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Tunes, and is counted.
    Tuned,
    /// Never tunes.
    Stock,
}

impl Mode {
    /// The value of `dtnforge.mode`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Stock => "stock",
        }
    }
}

/// The parts that UKIs are made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Kernel and initrd.
    pub initrd: &'a Made,
    /// Hash of the root.
    pub verity: &'a Made,
    /// The layers and their hash.
    pub layers: &'a Made,
    /// The root's tree, for its os-release.
    pub tree: &'a Made,
}

/// Runs the stage. Its output holds the files of [`ENTRIES`].
///
/// # Errors
/// ukify fails, or what it wrote does not read back.
pub fn stage(
    pipeline: &mut Pipeline<'_>,
    context: &Context,
    spec: &Spec,
    parts: Parts<'_>,
) -> Result<Made, anyhow::Error> {
    let root_hash = root::root_hash(&parts.verity.path("root.hash"))?;
    let layers_hash = root::root_hash(&parts.layers.path("layers.hash"))?;
    let mut inputs = Inputs::of_code(CODE)
        .with("tools", context.tools.key())
        .with("time", context.epoch)
        .with("initrd", &parts.initrd.key)
        .with("root hash", &root_hash)
        .with("layers hash", &layers_hash)
        .with_file("os-release", &parts.tree.path("tree/usr/lib/os-release"))?
        .with_tree("overlays/initrd", &spec.initrd_overlay)?;
    for (_, id, mode) in ENTRIES {
        inputs = inputs.with(
            &format!("command line of {id}"),
            command_line(spec, &root_hash, mode),
        );
    }
    let made = pipeline.stage("uki", &inputs, |work| {
        let extra = work.path("extra.cpio");
        fsx::write(&extra, &extra_initrd(context, spec, &layers_hash)?.finish())?;
        for (file, id, mode) in ENTRIES {
            let entry = Entry {
                target: &work.path(file),
                id,
                command_line: command_line(spec, &root_hash, mode),
                initrds: &[&parts.initrd.path("initrd"), &extra],
            };
            make(work, context, parts, &entry)?;
        }
        Ok(())
    });
    Ok(made?)
}

/// What is added to dracut's initrd: our units, and the one that opens the layers.
pub(super) fn extra_initrd(
    context: &Context,
    spec: &Spec,
    layers_hash: &str,
) -> Result<cpio::Archive, StageError> {
    let mut archive = cpio::Archive::new(context.epoch);
    archive.add_tree(&spec.initrd_overlay)?;
    archive.add_file(LAYERS_UNIT, layers_unit(layers_hash)?.as_bytes());
    Ok(archive)
}

/// A unit and not a line of veritytab: systemd would take such a device away again after the switch to the root,
/// which has no such line. The hash is in here and so in the UKI. Reads of a damaged block fail and cost the tuning;
/// nothing panics, unlike for the root.
fn layers_unit(layers_hash: &str) -> Result<String, StageError> {
    let (data, hashes) = uuid::of_root_hash(layers_hash)
        .ok_or_else(|| StageError::Wrong(format!("{layers_hash:?} is no root hash")))?;
    let devices = format!("{} {}", device_unit(&data), device_unit(&hashes));
    Ok(format!(
        "[Unit]\nDescription=Open the layers of tuning\nDefaultDependencies=no\nWants={devices}\nAfter={devices}\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=20\n\
         ExecStart=/usr/lib/systemd/systemd-veritysetup attach dtn-layers {PARTITIONS}/{data} {PARTITIONS}/{hashes} \
         {layers_hash}\n"
    ))
}

/// The unit of a partition, in systemd's way of writing paths.
pub(super) fn device_unit(partition: &str) -> String {
    let path = format!("{PARTITIONS}/{partition}");
    format!(
        "{}.device",
        path.trim_start_matches('/')
            .replace('-', "\\x2d")
            .replace('/', "-")
    )
}

/// What every command line begins with.
pub(super) const ROOT: [&str; 3] = ["root=/dev/mapper/root", "rootfstype=erofs", "ro"];

fn command_line(spec: &Spec, root_hash: &str, mode: Mode) -> String {
    let mut words: Vec<String> = ROOT.map(str::to_owned).to_vec();
    words.push(format!("roothash={root_hash}"));
    words.extend(COMMON.map(str::to_owned));
    let own: &[&str] = match mode {
        Mode::Tuned => &TUNED,
        Mode::Stock => &STOCK,
    };
    words.extend(own.iter().map(|word| (*word).to_owned()));
    words.extend(spec.console.iter().map(|console| format!("console={console}")));
    words.push(format!("dtnforge.mode={}", mode.name()));
    words.extend(spec.cmdline_extra.iter().cloned());
    if mode == Mode::Tuned {
        words.extend(spec.tuned_cmdline_extra.iter().cloned());
    }
    words.join(" ")
}

/// A UKI to make.
pub(super) struct Entry<'a> {
    /// Where it goes.
    pub target: &'a Path,
    /// Its `IMAGE_ID`.
    pub id: &'a str,
    /// The kernel's command line.
    pub command_line: String,
    /// The initrds, in the order in which the kernel unpacks them.
    pub initrds: &'a [&'a Path],
}

/// Makes a UKI and reads it back.
///
/// # Errors
/// ukify fails, or what it wrote does not read back.
pub(super) fn make(
    work: &Work<'_>,
    context: &Context,
    parts: Parts<'_>,
    entry: &Entry<'_>,
) -> Result<(), StageError> {
    let os_release = fsx::read_text(&parts.tree.path("tree/usr/lib/os-release"))?;
    let own = format!("{}\nIMAGE_ID={}\n", os_release.trim_end(), entry.id);
    fsx::write(&work.path("os-release"), own.as_bytes())?;
    let kernel = fsx::read_text(&parts.initrd.path("uname"))?;
    let (directory, inside) = seen_inside(entry.target)?;
    let mut ukify = context
        .tools
        .inside("ukify")
        .bind(work.directory, "out")
        .bind(directory, "dest")
        .bind(&parts.initrd.path("vmlinuz"), "vmlinuz")
        .args(["build", "--linux=/mnt/vmlinuz"]);
    for (number, initrd) in entry.initrds.iter().enumerate() {
        let name = format!("initrd{number}");
        ukify = ukify.bind(initrd, &name).arg(format!("--initrd=/mnt/{name}"));
    }
    ukify
        .args(["--os-release=@/mnt/out/os-release", &format!("--uname={kernel}")])
        .args([
            "--stub=/usr/lib/systemd/boot/efi/linuxx64.efi.stub",
            &format!("--cmdline={}", entry.command_line),
        ])
        .arg(format!("--output={inside}"))
        .env("SOURCE_DATE_EPOCH", context.epoch.to_string())
        .run(&work.log)?;
    read_back(entry)
}

/// A flipped byte in a UKI hangs a machine and nothing counts it, so what was written is read again: the command line
/// and the id must be in it.
fn read_back(entry: &Entry<'_>) -> Result<(), StageError> {
    let path = entry.target;
    let bytes = fsx::read(path)?;
    for expected in [
        entry.command_line.as_bytes(),
        format!("IMAGE_ID={}\n", entry.id).as_bytes(),
    ] {
        if !bytes.windows(expected.len()).any(|window| window == expected) {
            let text = String::from_utf8_lossy(expected).into_owned();
            return Err(StageError::Wrong(format!(
                "{} does not hold {text:?}",
                path.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_entry_that_tunes_reboots_by_itself_and_has_its_own_words() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/specs/lean.toml");
        let mut spec = crate::spec::load(&path).unwrap();
        spec.cmdline_extra = vec!["both=1".into()];
        spec.tuned_cmdline_extra = vec!["only=1".into()];
        let tuned = command_line(&spec, "0123", Mode::Tuned);
        assert!(tuned.ends_with("dtnforge.mode=tuned both=1 only=1"), "{tuned}");
        for word in TUNED {
            assert!(tuned.split(' ').any(|found| found == word), "{word}: {tuned}");
        }
        assert_eq!(
            command_line(&spec, "0123", Mode::Stock),
            "root=/dev/mapper/root rootfstype=erofs ro roothash=0123 panic=10 rd.shell=0 rd.timeout=300 \
             rd.emergency=halt console=ttyS0,115200 dtnforge.mode=stock both=1"
        );
    }

    #[test]
    fn the_layers_are_opened_by_the_hash_that_the_uki_holds() {
        let hash = "6356516473e95b4c5ac9da2931f68258d360867bc9ab7e91ad654d9ff9881b8e";
        let unit = layers_unit(hash).unwrap();
        let wants =
            "Wants=dev-disk-by\\x2dpartuuid-63565164\\x2d73e9\\x2d5b4c\\x2d5ac9\\x2dda2931f68258.device ";
        assert!(unit.contains(wants), "{unit}");
        let attach = "attach dtn-layers /dev/disk/by-partuuid/63565164-73e9-5b4c-5ac9-da2931f68258 \
                      /dev/disk/by-partuuid/d360867b-c9ab-7e91-ad65-4d9ff9881b8e 6356516473e95b4c";
        assert!(unit.contains(attach), "{unit}");
        assert_eq!(
            layers_unit("63").unwrap_err().to_string(),
            "\"63\" is no root hash"
        );
    }
}
