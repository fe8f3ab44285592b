//! Units of a site around the verdict, in a boot that ends in a commit.

use dtnforge_tests::node::{node, verdict};
use dtnforge_tests::rung::Rung;
use dtnforge_tests::units::{runs_once, told_of};
use dtnforge_tests::{Answers, Image, Probes, Trouble, Vm};

/// A node whose site has a service that must not run through a trial, and one that is told of a commit.
fn site_node(name: &str) -> Result<Vm, Trouble> {
    let image = Image::of_spec("services.toml")?;
    let vm = node(&image, name, 100_000).bare_metal();
    let vm = runs_once(vm, "transfer", "/usr/bin/touch /run/transfer-ran", "");
    let vm = told_of(vm, "told", "committed", "/usr/bin/touch /run/told-of-commit");
    Ok(told_of(
        vm,
        "other",
        "rejected",
        "/usr/bin/touch /run/told-of-rejection",
    ))
}

/// When things happened, and whether systemd had to leave something out.
fn questions() -> Probes {
    verdict()
        .ask(
            "transfer",
            "systemctl show --value -p ExecMainStartTimestampMonotonic transfer.service",
        )
        .ask(
            "agent",
            "systemctl show --value -p ExecMainExitTimestampMonotonic dtn-firstboot.service",
        )
        .ask(
            "drop-in",
            "cat /run/systemd/generator/transfer.service.d/50-dtnforge-verdict.conf",
        )
        .ask(
            "targets",
            "systemctl list-units --plain --no-legend 'dtnforge-verdict@*'",
        )
        .ask("told", "cd /run; ls told-*")
        .ask("cycles", "journalctl -b --no-pager | grep -i 'ordering cycle'")
        .ask(
            "verify",
            "systemd-analyze verify --man=no --recursive-errors=no /usr/lib/systemd/system/dtn* 2>&1",
        )
}

fn microseconds(answers: &Answers, name: &str) -> u64 {
    answers.text(name).parse().unwrap_or_default()
}

#[test]
fn a_service_of_the_site_starts_after_the_verdict_and_another_is_told_of_it() -> Result<(), Trouble> {
    const NAME: &str = "a_service_of_the_site_starts_after_the_verdict_and_another_is_told_of_it";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let (_, answers) = site_node(NAME)?.ask(&questions())?;
    let all = answers.all();
    assert_eq!(answers.status()?.state, "committed", "{all}");
    let (agent, transfer) = (
        microseconds(&answers, "agent"),
        microseconds(&answers, "transfer"),
    );
    assert!(
        agent > 0 && transfer > agent,
        "agent {agent}, transfer {transfer}\n{all}"
    );
    assert!(
        answers.text("drop-in").contains("After=dtn-verdict.service"),
        "{all}"
    );
    assert!(
        answers
            .text("targets")
            .starts_with("dtnforge-verdict@committed.target loaded active"),
        "{all}"
    );
    assert_eq!(answers.text("targets").lines().count(), 1, "{all}");
    assert_eq!(answers.text("told"), "told-of-commit", "{all}");
    assert_eq!(answers.text("cycles"), "", "{all}");
    assert_eq!(answers.text("verify"), "", "{all}");
    assert_eq!(answers.text("failed"), "", "{all}");
    Ok(())
}
