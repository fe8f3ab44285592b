//! The machine: DMI, firmware, kernel, memory, and whether it is a guest.

use super::attributes::Attributes;
use super::hypervisor::{self, Signs};
use super::source::{ONE_TABLE, ONE_VALUE, ReadError, Source};
use super::{container, cpu};
use crate::host::Host;
use dtnforge_profiles::facts;

const DMI: &str = "/sys/class/dmi/id";
const EFI_VARIABLES: &str = "/sys/firmware/efi/efivars";
const SECURE_BOOT: &str = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// Reads all about the machine.
pub(super) fn read(host: &Host, source: &dyn Source) -> facts::Host {
    let mut machine = facts::Host::default();
    dmi(source, &mut machine);
    cpu::read(source, &mut machine);
    system(host, source, &mut machine);
    firmware(source, &mut machine);
    machine.container = container::name(source);
    machine.hypervisor = hypervisor::name(&signs(source, &machine));
    machine
}

fn dmi(source: &dyn Source, machine: &mut facts::Host) {
    let mut dmi = Attributes::of(source, DMI);
    machine.dmi_vendor = dmi.text("dmi_vendor", "sys_vendor");
    machine.dmi_product = dmi.text("dmi_product", "product_name");
    machine.dmi_product_family = dmi.text("dmi_product_family", "product_family");
    machine.dmi_product_version = dmi.text("dmi_product_version", "product_version");
    machine.dmi_board_vendor = dmi.text("dmi_board_vendor", "board_vendor");
    machine.dmi_board = dmi.text("dmi_board", "board_name");
    machine.bios_vendor = dmi.text("bios_vendor", "bios_vendor");
    machine.bios_version = dmi.text("bios_version", "bios_version");
    machine.errors.append(&mut dmi.errors);
}

fn system(host: &Host, source: &dyn Source, machine: &mut facts::Host) {
    let mut proc = Attributes::of(source, "/proc");
    machine.kernel = proc.text("kernel", "sys/kernel/osrelease");
    // The file is there since 6.1; before that only the system call tells.
    machine.arch = proc
        .text("arch", "sys/kernel/arch")
        .or_else(|| host.is_live().then(|| std::env::consts::ARCH.to_owned()));
    machine.cmdline = proc.text("cmdline", "cmdline");
    machine.hostname = proc.text("hostname", "sys/kernel/hostname");
    let meminfo = source
        .text("/proc/meminfo", ONE_TABLE)
        .and_then(|text| memory_gib(&text));
    machine.memory_gib = proc.keep("memory_gib", "meminfo", meminfo);
    let release = source
        .text("/etc/os-release", ONE_TABLE)
        .or_else(|_| source.text("/usr/lib/os-release", ONE_TABLE));
    machine.os = proc
        .keep("os", "/etc/os-release", release)
        .and_then(|text| pretty_name(&text));
    machine.errors.append(&mut proc.errors);
}

/// Memory that the kernel manages, in GiB with two decimals.
fn memory_gib(meminfo: &str) -> Result<f64, ReadError> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let line = line.ok_or_else(|| ReadError::odd(meminfo, "a line MemTotal: N kB"))?;
    let kib = line.trim().strip_suffix("kB").unwrap_or(line).trim();
    let kib: u64 = kib.parse().map_err(|_| ReadError::odd(line, "MemTotal: N kB"))?;
    Ok((kib as f64 / 1_048_576.0 * 100.0).round() / 100.0)
}

/// `PRETTY_NAME` of os-release, without its quotes.
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?
        .trim()
        .trim_matches(|c| c == '"' || c == '\'');
    (!value.is_empty()).then(|| value.to_owned())
}

fn firmware(source: &dyn Source, machine: &mut facts::Host) {
    if source.exists("/sys/firmware/efi") {
        machine.firmware_type = Some("uefi".to_owned());
        machine.secure_boot = Some(secure_boot(source).to_owned());
    } else if source.exists("/sys/firmware") {
        machine.firmware_type = Some("bios".to_owned());
        // What verifies no boot loader is not secure boot.
        machine.secure_boot = Some("off".to_owned());
    }
}

/// The variable is four bytes of attributes and one of value; what cannot be read or has another form is unknown.
fn secure_boot(source: &dyn Source) -> &'static str {
    match source
        .content(SECURE_BOOT, ONE_VALUE)
        .as_ref()
        .map(|content| content.bytes.as_slice())
    {
        Ok([_, _, _, _, 1]) => "on",
        Ok([_, _, _, _, 0]) => "off",
        // A firmware without Secure Boot has no such variable, and has others.
        Err(ReadError::Missing) if source.list(EFI_VARIABLES).is_ok_and(|names| !names.is_empty()) => "off",
        _ => "unknown",
    }
}

/// Collects what speaks for or against a guest.
fn signs(source: &dyn Source, machine: &facts::Host) -> Signs {
    let dmi = [
        &machine.dmi_vendor,
        &machine.dmi_product,
        &machine.dmi_board_vendor,
    ];
    let list = |directory: &str| source.list(directory).unwrap_or_default();
    Signs {
        cpu_flag: machine.cpu_hypervisor_flag,
        dmi: dmi.into_iter().flatten().cloned().collect(),
        bios_vendor: machine.bios_vendor.clone(),
        sys_hypervisor: source.sign("/sys/hypervisor/type"),
        first_domain: source
            .sign("/proc/xen/capabilities")
            .is_some_and(|text| text.contains("control_d")),
        clock_sources: source
            .sign("/sys/devices/system/clocksource/clocksource0/available_clocksource")
            .unwrap_or_default(),
        vmbus: !list("/sys/bus/vmbus/devices").is_empty(),
        firmware_table: source
            .sign("/proc/device-tree/hypervisor/compatible")
            .or_else(|| {
                source
                    .sign("/proc/sysinfo")
                    .and_then(|text| control_program(&text))
            }),
    }
}

/// The control program of the innermost level of /proc/sysinfo (s390x).
fn control_program(sysinfo: &str) -> Option<String> {
    let line = sysinfo.lines().find(|line| line.contains("Control Program:"))?;
    let (_, program) = line.split_once(':')?;
    Some(program.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_gib_or_not_at_all() {
        assert_eq!(
            memory_gib("MemTotal:       263761720 kB\nMemFree: 1 kB\n"),
            Ok(251.54)
        );
        assert_eq!(memory_gib("MemTotal: 6442450944 kB\n"), Ok(6144.0));
        let error = memory_gib("MemTotal: lots\n").unwrap_err().to_string();
        assert_eq!(error, "holds \" lots\", expected MemTotal: N kB");
        assert!(memory_gib("").is_err());
    }

    #[test]
    fn the_name_of_the_system_is_the_one_for_people() {
        let text = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
        assert_eq!(pretty_name("NAME=x\nPRETTY_NAME=\"\"\n"), None);
    }

    #[test]
    fn a_mainframe_guest_names_its_control_program() {
        let text = "LPAR Name: x\nVM00 Name: guest\nVM00 Control Program: z/VM    7.3.0\n";
        assert_eq!(control_program(text).as_deref(), Some("z/VM    7.3.0"));
    }
}
