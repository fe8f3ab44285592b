//! The way in when the network is gone: the serial console, for whoever has been given a password, and for nobody else.

use dtnforge_tests::rung::Rung;
use dtnforge_tests::{Image, Report, Trouble, Vm};

/// crypt(5), SHA-512, of `open sesame`.
const HASH: &str =
    "$6$dtnforgetests$.9tGvIzM.kFllL8ODSPTO6lp8Cy1vCqdtCivEgCJ4gV5wlvr/ZXCvNh7E4PKk4ijG7dBbwo0kzywl7CA2iLkY0";
const PASSWORD: &str = "open sesame";

/// Somebody at the serial console who knows the password, on a node without a network card.
fn somebody_logs_in(name: &str, with: impl FnOnce(Vm) -> Vm, until: &str) -> Result<Report, Trouble> {
    let vm = Vm::of(&Image::lean()?, name)
        .flag("--no-nic")
        .option("--type", "root@/dtn login: $/")
        .option("--type", format!("{PASSWORD}@/Password: $/"))
        .option("--type", "echo I am $(id -un)@/root@dtn:~# $/")
        .option("--until", until)
        .option("--timeout", "400");
    let report = with(vm).boot()?;
    assert_eq!(report.data.reason, "done", "{}", report.data.console_tail);
    Ok(report)
}

#[test]
fn root_logs_in_at_the_console_with_the_password_of_the_credential() -> Result<(), Trouble> {
    const NAME: &str = "root_logs_in_at_the_console_with_the_password_of_the_credential";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let credential = format!("passwd.hashed-password.root={HASH}");
    somebody_logs_in(NAME, |vm| vm.option("--credential", credential), "^I am root")?;
    Ok(())
}

#[test]
fn without_a_password_nobody_logs_in_at_the_console() -> Result<(), Trouble> {
    const NAME: &str = "without_a_password_nobody_logs_in_at_the_console";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let report = somebody_logs_in(NAME, |vm| vm, "Login incorrect")?;
    assert!(
        !report.console()?.contains("I am root"),
        "{}",
        report.data.console_tail
    );
    Ok(())
}
