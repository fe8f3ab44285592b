//! Units that a guest gets through its firmware (systemd's credentials), so that an image need not be built for each
//! mishap.

use crate::Vm;

/// systemd hands such units to the initrd as well, which has targets of the same names.
const NOT_IN_INITRD: &str = "ConditionPathExists=!/etc/initrd-release";

/// Only in the entry that tunes.
pub const ONLY_TUNED: &str = "ConditionKernelCommandLine=dtnforge.mode=tuned";

/// What never ends and keeps basic.target from being reached. With `only` in its `[Unit]` section.
pub fn hangs_before_basic(vm: Vm, only: &str) -> Vm {
    let unit = format!(
        "[Unit]\nDescription=Hangs for a test\nDefaultDependencies=no\nBefore=basic.target\n\
         {NOT_IN_INITRD}\n{only}\n[Service]\nType=oneshot\nExecStart=/usr/bin/sleep infinity\n"
    );
    let vm = unit_of(vm, "hang.service", &unit);
    // The image's own limit is for slow machines with slow disks.
    drop_in(
        vm,
        "basic.target",
        "[Unit]\nWants=hang.service\nAfter=hang.service\nJobTimeoutSec=60\n",
    )
}

/// A unit that runs `program` once, as soon as the guest has come to multi-user.target's wishes. With `only` in its
/// `[Unit]` section.
pub fn runs_once(vm: Vm, name: &str, program: &str, only: &str) -> Vm {
    let service = format!("{name}.service");
    let unit = format!(
        "[Unit]\nDescription=Runs for a test\nAfter=basic.target\n{only}\n\
         [Service]\nType=oneshot\nExecStart={program}\n"
    );
    let vm = unit_of(vm, &service, &unit);
    drop_in(vm, "multi-user.target", &format!("[Unit]\nWants={service}\n"))
}

/// A unit that runs `program` when the node comes to the state `state`.
pub fn told_of(vm: Vm, name: &str, state: &str, program: &str) -> Vm {
    let service = format!("{name}.service");
    let unit = format!("[Unit]\nDescription=Told for a test\n[Service]\nType=oneshot\nExecStart={program}\n");
    let vm = unit_of(vm, &service, &unit);
    let target = format!("dtnforge-verdict@{state}.target");
    drop_in(vm, &target, &format!("[Unit]\nWants={service}\n"))
}

/// What a site would have written into its `site.toml`, there before the agent looks.
pub fn site(vm: Vm, text: &str) -> Vm {
    let unit = format!(
        "[Unit]\nDefaultDependencies=no\nBefore=dtn-firstboot-early.service\n\
         {NOT_IN_INITRD}\n[Service]\nType=oneshot\nSetCredential=site.toml:{text}\n\
         ExecStart=/usr/bin/install -D -m 0644 %d/site.toml /etc/dtnforge/site.toml\n"
    );
    let vm = unit_of(vm, "site.service", &unit);
    drop_in(vm, "sysinit.target", "[Unit]\nWants=site.service\n")
}

fn unit_of(vm: Vm, name: &str, text: &str) -> Vm {
    vm.option("--credential", format!("systemd.extra-unit.{name}={text}"))
}

/// Changes a unit of the image. The name sorts behind the image's own changes.
pub fn drop_in(vm: Vm, unit: &str, text: &str) -> Vm {
    vm.option(
        "--credential",
        format!("systemd.unit-dropin.{unit}~zz-test={text}"),
    )
}
