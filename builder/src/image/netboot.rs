//! Stages of the netboot set: what a node boots from the network without a disk of its own.
//!
//! The root and the layers travel in one archive that the kernel unpacks behind the initrd: an image of a disk with the
//! same partitions as the real one, so that nothing that comes after has to know. The hash of the root is in the initrd,
//! so that a server needs to be nothing but a store of files: what came damaged does not start. The set has kernel,
//! initrd and archive for iPXE, a script for it, the same as one UKI for UEFI HTTP boot, and an iPXE to start with.
//! There is no boot counter on the network: each boot starts stock, with nothing kept, and is proved anew.

use super::uki::{self, COMMON, Entry, Mode, Parts};
use super::{Context, cpio, disk, root, uuid};
use crate::fsx;
use crate::spec::Spec;
use crate::stage::outputs::{Artefact, Outputs};
use crate::stage::{Failed, Inputs, Made, Pipeline, StageError, Work};
use std::path::Path;

const CODE: u32 = 1;
const MIB: u64 = 1 << 20;
/// Where the set is, in the output directory.
pub const DIRECTORY: &str = "netboot";
/// The disk in the stage's output, and its place in the archive, where `netboot.sh` of the initrd expects it.
const IMAGE: &str = "disk.img";
const IMAGE_AT: (&str, &str) = ("dtnforge", "dtnforge/disk.img");
const CONFIG: &str = "usr/lib/dtnforge/netboot.conf";
const ROOT_UNIT: &str = "etc/systemd/system/dtn-root.service";
const IPXE: &str = "usr/lib/ipxe/ipxe.efi";
/// Firmwares and iPXE give up beyond it.
const LARGEST: u64 = 2 << 30;
/// Nothing counts a boot from the network and a reboot would only come here again: what cannot go on stays, and says so.
const OWN: [&str; 2] = ["rd.timeout=60", "rd.emergency=halt"];
/// What a node takes beside its image: kernel, unpacked initrd, services, the measurements of a trial.
const RUNNING_MIB: u64 = 512;

/// Runs the stages. Returns the files of the set, whose names begin with [`DIRECTORY`].
///
/// # Errors
/// The archive is larger than a firmware takes; a tool fails; a file cannot be written.
pub fn stages(
    pipeline: &mut Pipeline<'_>,
    context: &Context,
    spec: &Spec,
    outputs: &mut Outputs,
    parts: Parts<'_>,
    erofs: &Made,
) -> Result<Vec<Artefact>, anyhow::Error> {
    fsx::create_dir_all(&outputs.directory().join(DIRECTORY))?;
    let root_hash = root::root_hash(&parts.verity.path("root.hash"))?;
    let layers_hash = root::root_hash(&parts.layers.path("layers.hash"))?;
    let overlay = spec.project.join("overlays/netboot");
    let inputs = Inputs::of_code(CODE)
        .with("tools", context.tools.key())
        .with("time", context.epoch)
        .with("root", &erofs.key)
        .with("root hashes", &parts.verity.key)
        .with("layers", &parts.layers.key)
        .with("initrd", &parts.initrd.key)
        .with("tuned words", command_line(spec, Mode::Tuned))
        .with("stock words", command_line(spec, Mode::Stock))
        .with_file("os-release", &parts.tree.path("tree/usr/lib/os-release"))?
        .with_tree("overlays/initrd", &spec.initrd_overlay)?
        .with_tree("overlays/netboot", &overlay)?;
    let image = pipeline.stage("netboot disk", &inputs, |work| {
        make_disk(work, context, parts, erofs)
    })?;
    let size = image.file(IMAGE)?.size;
    refuse_large(size)?;
    let base = parts.initrd.path("initrd");
    let least_mib = least_mib(size, parts.initrd.file("initrd")?.size);
    let set = outputs.directory().join(DIRECTORY);
    let (archive, initrd) = (set.join("root.cpio"), set.join("initrd"));
    let mut made = Vec::new();
    let mut file = |pipeline: &mut Pipeline<'_>, stage: &'static str, name: &str, make: &Make<'_>| {
        let name = format!("{DIRECTORY}/{name}");
        let artefact =
            pipeline.artefact(stage, &inputs, outputs, &name, |target, work| make(target, work))?;
        made.push(artefact.0);
        Ok::<(), Failed>(())
    };
    file(pipeline, "netboot root", "root.cpio", &|target, _| {
        let mut archive = cpio::Archive::new(context.epoch);
        archive.add_directory(IMAGE_AT.0);
        Ok(archive.finish_with(IMAGE_AT.1, &image.path(IMAGE), target)?)
    })?;
    file(pipeline, "netboot kernel", "vmlinuz", &|target, _| {
        Ok(fsx::write(target, &fsx::read(&parts.initrd.path("vmlinuz"))?)?)
    })?;
    file(pipeline, "netboot initrd", "initrd", &|target, _| {
        let base = fsx::read(&base)?;
        let mut extra = uki::extra_initrd(context, spec, &layers_hash)?;
        extra.add_tree(&overlay)?;
        extra.add_file(ROOT_UNIT, root_unit(&root_hash)?.as_bytes());
        extra.add_file(
            CONFIG,
            format!("least_mib={least_mib}\nimage_bytes={size}\n").as_bytes(),
        );
        let whole = [padded(base), extra.finish()].concat();
        Ok(fsx::write(target, &whole)?)
    })?;
    file(pipeline, "netboot uki", "dtnforge.efi", &|target, work| {
        let entry = Entry {
            target,
            id: "dtnforge",
            command_line: command_line(spec, Mode::Tuned),
            initrds: &[&initrd, &archive],
        };
        uki::make(work, context, parts, &entry)
    })?;
    file(pipeline, "netboot script", "boot.ipxe", &|target, _| {
        Ok(fsx::write(target, script(spec, least_mib).as_bytes())?)
    })?;
    file(pipeline, "netboot ipxe", "ipxe.efi", &|target, _| {
        Ok(fsx::write(target, &fsx::read(&context.tools.root().join(IPXE))?)?)
    })?;
    Ok(made)
}

/// Makes one file of the set.
type Make<'a> = dyn Fn(&Path, &Work<'_>) -> Result<(), StageError> + 'a;

fn refuse_large(size: u64) -> Result<(), StageError> {
    if size < LARGEST {
        return Ok(());
    }
    Err(StageError::Wrong(format!(
        "key `image.outputs`: root.cpio has {} MiB, and firmwares take no more than {} MiB from the network\n\
         hint: leave packages out, or take \"netboot\" from image.outputs",
        size.div_ceil(MIB),
        LARGEST / MIB
    )))
}

/// The disk without what a node writes to: no EFI system partition, no state.
fn make_disk(work: &Work<'_>, context: &Context, parts: Parts<'_>, erofs: &Made) -> Result<(), StageError> {
    for (file, text) in disk::read_only_partitions(parts)? {
        fsx::write(&work.path("repart.d").join(file), text.as_bytes())?;
    }
    let seed = uuid::of("netboot disk", &erofs.key);
    disk::partition(work, context, parts, erofs, &seed, &work.path(IMAGE))
}

/// The kernel looks for the next archive at a multiple of four bytes.
fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Memory that a node needs, MiB, a multiple of 64, for an image and an initrd of these sizes: while the kernel unpacks,
/// both are there twice, as they came and unpacked.
fn least_mib(image: u64, initrd: u64) -> u64 {
    (2 * image.div_ceil(MIB) + 4 * initrd.div_ceil(MIB) + RUNNING_MIB).next_multiple_of(64)
}

/// Opens the root by the hash that travels with the initrd. A unit and no word of the command line, so that a site that
/// writes a script of its own has no hash to copy.
fn root_unit(root_hash: &str) -> Result<String, StageError> {
    let (data, hashes) = uuid::of_root_hash(root_hash)
        .ok_or_else(|| StageError::Wrong(format!("{root_hash:?} is no root hash")))?;
    let devices = format!("{} {}", uki::device_unit(&data), uki::device_unit(&hashes));
    let partitions = uki::PARTITIONS;
    Ok(format!(
        "[Unit]\nDescription=Open the root that came from the network\nDefaultDependencies=no\n\
         Requires=dtn-netboot.service\nWants={devices}\nAfter=dtn-netboot.service {devices}\n\
         OnFailure=emergency.target\nOnFailureJobMode=replace-irreversibly\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=60\n\
         ExecStart=/usr/lib/systemd/systemd-veritysetup attach root {partitions}/{data} {partitions}/{hashes} {root_hash}\n"
    ))
}

fn command_line(spec: &Spec, mode: Mode) -> String {
    let mut words: Vec<String> = uki::ROOT.map(str::to_owned).to_vec();
    words.extend(COMMON.map(str::to_owned));
    words.extend(OWN.map(str::to_owned));
    words.extend(spec.console.iter().map(|console| format!("console={console}")));
    words.push(format!("dtnforge.mode={}", mode.name()));
    words.push("dtnforge.boot=net".to_owned());
    words.extend(spec.cmdline_extra.iter().cloned());
    if mode == Mode::Tuned {
        words.extend(spec.tuned_cmdline_extra.iter().cloned());
    }
    words.join(" ")
}

/// The script for iPXE. Files are named without a server: iPXE takes them from where the script came.
fn script(spec: &Spec, least_mib: u64) -> String {
    let files = "initrd=initrd initrd=root.cpio";
    format!(
        "#!ipxe\n\
         # {name}: tuned, else stock, else the next boot entry of the firmware (a local disk).\n\
         # A node needs {least_mib} MiB of memory.\n\
         # `set mode stock` before `chain` of this script boots a node that never tunes.\n\
         isset ${{mode}} && goto ${{mode}} ||\n\
         :tuned\n\
         imgfree\n\
         initrd --name initrd initrd || goto local\n\
         initrd --name root.cpio root.cpio || goto local\n\
         kernel vmlinuz {files} {tuned} || goto local\n\
         boot || goto stock\n\
         :stock\n\
         imgfree\n\
         initrd --name initrd initrd || goto local\n\
         initrd --name root.cpio root.cpio || goto local\n\
         kernel vmlinuz {files} {stock} || goto local\n\
         boot || goto local\n\
         :local\n\
         imgfree\n\
         echo dtnforge: nothing could be booted from the network, going on with the next boot entry\n\
         exit 1\n",
        name = spec.name,
        tuned = command_line(spec, Mode::Tuned),
        stock = command_line(spec, Mode::Stock),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "6356516473e95b4c5ac9da2931f68258d360867bc9ab7e91ad654d9ff9881b8e";

    fn spec() -> Spec {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/specs/lean.toml");
        crate::spec::load(&path).unwrap()
    }

    #[test]
    fn the_script_goes_from_tuned_to_stock_to_the_disk_and_names_no_server() {
        let script = script(&spec(), 1088);
        assert!(
            script.contains("\n# A node needs 1088 MiB of memory.\n"),
            "{script}"
        );
        let place = |label: &str| {
            script
                .find(&format!("\n{label}\n"))
                .unwrap_or_else(|| panic!("{label}: {script}"))
        };
        assert!(
            place(":tuned") < place(":stock") && place(":stock") < place(":local"),
            "{script}"
        );
        assert!(
            script.starts_with("#!ipxe\n") && script.ends_with("exit 1\n"),
            "{script}"
        );
        assert!(
            script.contains("kernel vmlinuz initrd=initrd initrd=root.cpio root=/dev/mapper/root"),
            "{script}"
        );
        assert!(
            !script.contains("://") && !script.contains("roothash="),
            "{script}"
        );
    }

    #[test]
    fn the_hash_of_the_root_travels_with_the_initrd() {
        let unit = root_unit(HASH).unwrap();
        let attach = format!(
            "attach root /dev/disk/by-partuuid/63565164-73e9-5b4c-5ac9-da2931f68258 \
             /dev/disk/by-partuuid/d360867b-c9ab-7e91-ad65-4d9ff9881b8e {HASH}\n"
        );
        assert!(unit.ends_with(&attach), "{unit}");
        assert_eq!(root_unit("63").unwrap_err().to_string(), "\"63\" is no root hash");
    }

    #[test]
    fn the_memory_that_is_needed_follows_from_what_is_sent() {
        assert_eq!(least_mib(200 * MIB, 40 * MIB), 1088);
        refuse_large(LARGEST - 1).unwrap();
        let error = refuse_large(LARGEST).unwrap_err().to_string();
        assert!(
            error.contains("root.cpio has 2048 MiB") && error.contains("hint: leave packages out"),
            "{error}"
        );
    }

    #[test]
    fn a_node_from_the_network_says_so_on_its_command_line() {
        let words = command_line(&spec(), Mode::Tuned);
        assert!(words.contains("dtnforge.mode=tuned dtnforge.boot=net"), "{words}");
        assert!(
            words.contains("rd.emergency=halt") && !words.contains("rd.emergency=reboot"),
            "{words}"
        );
    }
}
