//! `dtnforge boot`: starts an image in QEMU and drives it.

use super::Failure;
use crate::boot::accel::AccelChoice;
use crate::boot::disk::{DiskBus, DiskSpec};
use crate::boot::error::BootError;
use crate::boot::incident::{Incident, LinkChange, PowerCycle, TypedLine};
use crate::boot::nic::NicSpec;
use crate::boot::outcome::Outcome;
use crate::boot::qemu::QemuTree;
use crate::boot::request::{
    Again, BootRequest, CopyOut, Goals, Hardware, Hotplug, Overlay, Source, SshPort, Vars, Watch,
};
use crate::boot::smbios::Credential;
use crate::cache::Cache;
use crate::tools::ToolsTree;
use dtnforge_profiles::envelope::Envelope;
use regex::Regex;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Form of the report's data.
const SCHEMA: u32 = 1;

/// Arguments of `dtnforge boot`.
#[derive(Debug, clap::Args)]
pub struct BootArgs {
    /// Output directory of a build, or a .raw or .qcow2 file; never written to
    #[arg(value_name = "OUT", required_unless_present = "snapshot")]
    out: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    incidents: IncidentArgs,
    #[command(flatten)]
    goals: GoalArgs,
    /// Directory of the cache, for the tools tree
    #[arg(long, value_name = "DIR", help_heading = "General")]
    cache: Option<PathBuf>,
    /// Use this tools tree instead of the cache's
    #[arg(long, value_name = "DIR", conflicts_with = "cache", help_heading = "General")]
    tools_tree: Option<PathBuf>,
}

/// The machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Machine")]
struct MachineArgs {
    /// Network card: [MODEL,]speed=MBPS,mac=..,link=down,rx_queue_size=..,queues=..,net=user|none|tap:..|socket:..
    ///
    /// MODEL is virtio, e1000e, igb or vmxnet3. May be given several times; without it there is one virtio card on
    /// QEMU's user network. A comma in a value is written twice.
    #[arg(long, value_name = "SPEC")]
    nic: Vec<NicSpec>,
    /// No network card at all
    #[arg(long, conflicts_with = "nic")]
    no_nic: bool,
    /// Data disk: nvme|virtio|sata,size=4G[,file=PATH][,serial=S][,block=4096][,readonly=on][,boot=on]
    ///
    /// May be given several times. With boot=on the firmware tries it before the system disk.
    #[arg(long, value_name = "SPEC")]
    disk: Vec<DiskSpec>,
    /// How the system disk is attached: virtio, nvme or sata
    #[arg(long, value_name = "BUS", default_value = "virtio")]
    system_disk: DiskBus,
    /// Memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(256..))]
    ram: u32,
    /// Virtual processors
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=255))]
    cpus: u16,
    /// KVM, software emulation, or the former where it works
    #[arg(long, value_enum, value_name = "WHICH", default_value_t)]
    accel: AccelChoice,
    /// Look like a server: no hypervisor bit, a server's SMBIOS and ACPI strings
    #[arg(long)]
    as_bare_metal: bool,
    /// Words added to the kernel's command line in the UKI
    #[arg(long, value_name = "WORDS")]
    cmdline: Vec<String>,
    /// Credential for the guest's PID 1
    #[arg(long, value_name = "NAME=VALUE")]
    credential: Vec<Credential>,
    /// NoCloud seed: a directory with meta-data and user-data, or an ISO image
    #[arg(long, value_name = "DIR|ISO")]
    seed: Option<PathBuf>,
    /// A watchdog device that resets the guest
    #[arg(long)]
    watchdog: bool,
    /// End when the guest reboots, instead of starting it again
    #[arg(long)]
    no_reboot: bool,
    /// Keep the changes to the image in this new file
    #[arg(long, value_name = "FILE", conflicts_with = "overlay")]
    keep_overlay: Option<PathBuf>,
    /// Go on with the changes that an earlier --keep-overlay kept, and keep what is added
    #[arg(long, value_name = "FILE")]
    overlay: Option<PathBuf>,
    /// Keep the firmware's variables in this file; it is made when it is not there
    #[arg(long, value_name = "FILE")]
    vars: Option<PathBuf>,
    /// Forget what the file of --vars held
    #[arg(long, requires = "vars")]
    fresh_vars: bool,
    /// Go on with a copy of a machine that --save-snapshot saved, instead of starting one
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "out", "nic", "no_nic", "disk", "system_disk", "ram", "cpus", "accel", "as_bare_metal", "cmdline",
        "credential", "seed", "watchdog", "no_reboot", "keep_overlay", "overlay", "vars",
    ])]
    snapshot: Option<PathBuf>,
}

/// What the guest is watched for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Watching")]
struct WatchArgs {
    /// Log of the serial console, every byte
    #[arg(long, value_name = "FILE")]
    serial: Option<PathBuf>,
    /// Show the serial console; the default when nothing is waited for
    #[arg(long)]
    show_serial: bool,
    /// Forward this port of 127.0.0.1 to the guest's port 22
    #[arg(long, value_name = "N|auto")]
    ssh_port: Option<SshPort>,
    /// Report as JSON on standard output; what is live goes to standard error
    #[arg(long)]
    json: bool,
}

/// What happens to the guest from outside. WHEN is a time since the power came on (60s) or a console line (/REGEX/).
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Incidents")]
struct IncidentArgs {
    /// Pull or plug in a cable: nic1=down@60s, nic1=up@/REGEX/; may be given several times
    #[arg(long, value_name = "NIC=up|down@WHEN")]
    link: Vec<LinkChange>,
    /// Let the power fail and come back: 60s, /REGEX/, or 3x/REGEX/ for the first three boots that show such a line
    #[arg(long, value_name = "[Nx]WHEN", conflicts_with = "no_reboot")]
    power_cycle: Vec<PowerCycle>,
    /// Type a line at the console: root@/login:/; may be given several times, for each line once
    #[arg(long = "type", value_name = "LINE@WHEN")]
    typed: Vec<TypedLine>,
}

impl IncidentArgs {
    fn into_incidents(self) -> Vec<Incident> {
        let cables = self.link.into_iter().map(|LinkChange(incident)| incident);
        let cuts = self.power_cycle.into_iter().map(|PowerCycle(incident)| incident);
        let lines = self.typed.into_iter().map(|TypedLine(incident)| incident);
        cables.chain(cuts).chain(lines).collect()
    }
}

/// What is done with the guest, in this order.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Goals, in this order")]
struct GoalArgs {
    /// Wait for a line on the serial console that matches (searched line by line, without terminal codes)
    #[arg(long, value_name = "REGEX")]
    until: Option<Regex>,
    /// Then wait until sshd answers on the forwarded port; again in each boot of --again
    #[arg(long, requires = "ssh_port")]
    until_ssh: bool,
    /// Limit in seconds for --until, --until-ssh, the guest's shell and --kill-when
    #[arg(long, value_name = "S", default_value_t = 600)]
    timeout: u64,
    /// Plug in a device and wait until the guest shows it: nic,... or disk,... as --nic and --disk; several times
    #[arg(long, value_name = "SPEC")]
    hotplug: Vec<Hotplug>,
    /// Run this program (- for standard input) in a root shell of the guest; its exit code becomes ours
    #[arg(long, value_name = "SCRIPT")]
    run: Option<PathBuf>,
    /// Limit in seconds for --run; the exit code is then 124
    #[arg(long, value_name = "S", default_value_t = 600)]
    run_timeout: u64,
    /// Then start the guest again this way and run the program once more; may be given several times
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        requires = "run",
        conflicts_with = "no_reboot"
    )]
    again: Vec<Again>,
    /// Fetch a file of the guest; may be given several times
    #[arg(long, value_name = "GUESTPATH:HOSTPATH")]
    copy_out: Vec<CopyOut>,
    /// Save the running machine into this new directory, once it is up
    #[arg(long, value_name = "DIR", conflicts_with_all = ["snapshot", "hotplug", "kill_when", "power_off", "again", "power_cycle"])]
    save_snapshot: Option<PathBuf>,
    /// Cut the power (kill QEMU) as soon as a line on the serial console matches
    #[arg(long, value_name = "REGEX")]
    kill_when: Option<Regex>,
    /// Stay for so many seconds before the end, to see what the guest does
    #[arg(long, value_name = "S", default_value_t = 0)]
    linger: u64,
    /// At the end ask the guest to shut down and wait for it
    #[arg(long)]
    power_off: bool,
}

/// Boots the image; reports how it went.
///
/// # Errors
/// The guest could not be driven, or it did not do as asked (then only an exit code is left to give).
pub fn run(args: BootArgs) -> Result<(), Failure> {
    let tree = match &args.tools_tree {
        Some(root) => QemuTree::new(root),
        None => QemuTree::new(ToolsTree::ensure(&Cache::open(args.cache.as_deref())?)?.root()),
    };
    let json = args.watch.json;
    let outcome = crate::boot::boot(&tree, &request(args)?).map_err(failure)?;
    report(&outcome, json)?;
    match outcome.exit_code() {
        0 => Ok(()),
        code => Err(Failure::Told(code)),
    }
}

fn failure(error: BootError) -> Failure {
    match error {
        BootError::Options(_) | BootError::NoImage { .. } => Failure::BadInput(error.into()),
        error => Failure::Failed(error.into()),
    }
}

fn report(outcome: &Outcome, json: bool) -> Result<(), Failure> {
    if json {
        print!("{}", Envelope::new(SCHEMA, outcome.to_json()).to_text()?);
    }
    for line in outcome.boots.story() {
        eprintln!("{line}");
    }
    eprintln!("boot: {}", outcome.sentence());
    if let Some(evidence) = outcome.evidence() {
        eprintln!("{evidence}");
    }
    Ok(())
}

fn request(args: BootArgs) -> Result<BootRequest, BootError> {
    let goals = goals(args.goals)?;
    let source = match args.machine.snapshot.clone() {
        Some(dir) => Source::Snapshot(dir),
        None => Source::Cold(Box::new(hardware(args.out.unwrap_or_default(), args.machine))),
    };
    let watch = Watch {
        serial: args.watch.serial,
        show_serial: args.watch.show_serial || goals.only_watch(),
        json: args.watch.json,
        ssh_port: args.watch.ssh_port,
    };
    Ok(BootRequest {
        source,
        watch,
        incidents: args.incidents.into_incidents(),
        goals,
    })
}

fn hardware(out: PathBuf, args: MachineArgs) -> Hardware {
    let nics = if args.nic.is_empty() && !args.no_nic {
        vec![NicSpec::default()]
    } else {
        args.nic
    };
    Hardware {
        out,
        overlay: match (args.keep_overlay, args.overlay) {
            (Some(path), _) => Overlay::Create(path),
            (None, Some(path)) => Overlay::Continue(path),
            (None, None) => Overlay::ThrowAway,
        },
        vars: match (args.vars, args.fresh_vars) {
            (None, _) => Vars::ThrowAway,
            (Some(path), false) => Vars::Keep(path),
            (Some(path), true) => Vars::Reset(path),
        },
        accel: args.accel,
        cpus: args.cpus,
        ram_mib: args.ram,
        bare_metal: args.as_bare_metal,
        system_bus: args.system_disk,
        disks: args.disk,
        nics,
        seed: args.seed,
        cmdline: args.cmdline,
        credentials: args.credential,
        watchdog: args.watchdog,
        no_reboot: args.no_reboot,
    }
}

fn goals(args: GoalArgs) -> Result<Goals, BootError> {
    Ok(Goals {
        until: args.until,
        kill_when: args.kill_when,
        timeout: Duration::from_secs(args.timeout),
        until_ssh: args.until_ssh,
        hotplug: args.hotplug,
        run: args.run.as_deref().map(read_script).transpose()?,
        run_timeout: Duration::from_secs(args.run_timeout),
        again: args.again,
        copy_out: args.copy_out,
        save_snapshot: args.save_snapshot,
        linger: Duration::from_secs(args.linger),
        power_off: args.power_off,
    })
}

fn read_script(path: &Path) -> Result<Vec<u8>, BootError> {
    let mut script = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut script).map(drop)
    } else {
        std::fs::read(path).map(|content| script = content)
    };
    read.map_err(|source| BootError::File {
        action: "read the script",
        path: path.to_owned(),
        source,
    })?;
    Ok(script)
}
