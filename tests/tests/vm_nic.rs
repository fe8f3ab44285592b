//! A trial by hand on each model of NIC that QEMU has: taken back it leaves nothing, committed it comes back at boot.
//!
//! The guest is continued from the shelf and the cards are plugged in, each beside the virtio card of the guest itself.

use dtnforge_tests::dump::{self, difference, normal, over_a_boot};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Answers, Image, Probes, Trouble, Vm, snapshot};

/// A driver of the guest, and what is asked of it: the names of the answers have to live as long as the program.
struct Card {
    driver: &'static str,
    answers: [&'static str; 5],
}

/// The second virtio card is the one that was plugged in.
const CARDS: [Card; 4] = [
    Card {
        driver: "virtio_net",
        answers: [
            "virtio before",
            "virtio try",
            "virtio tried",
            "virtio rollback",
            "virtio after",
        ],
    },
    Card {
        driver: "e1000e",
        answers: [
            "e1000e before",
            "e1000e try",
            "e1000e tried",
            "e1000e rollback",
            "e1000e after",
        ],
    },
    Card {
        driver: "igb",
        answers: ["igb before", "igb try", "igb tried", "igb rollback", "igb after"],
    },
    Card {
        driver: "vmxnet3",
        answers: [
            "vmxnet3 before",
            "vmxnet3 try",
            "vmxnet3 tried",
            "vmxnet3 rollback",
            "vmxnet3 after",
        ],
    },
];

/// Shell functions: the plugged-in card of a driver, and a site that names cards as those of the data.
const FUNCTIONS: &str = r#"
card() {
    for nic in /sys/class/net/*; do
        [ "$(basename "$(readlink -f "$nic/device/driver")")" = "$1" ] && basename "$nic"
    done | sort | tail -n 1
}
site() {
    list=; for nic in "$@"; do ip link set "$nic" up; list="$list\"$nic\", "; done; sleep 5
    mkdir -p /etc/dtnforge
    printf 'role = "dtn"\nprofile = "dtn-100g-nvme"\ndata_nics = [%s]\nlink_mbps = 100000\nunproved = "apply"\n' "$list" \
        >/etc/dtnforge/site.toml
}
"#;

fn shelf(name: &str) -> Result<Vm, Trouble> {
    let saved = snapshot::of(&Image::lean()?)?;
    let plugged = ["virtio,speed=100000", "e1000e", "igb", "vmxnet3"];
    let vm = Vm::of_snapshot(&saved, name).option("--run-timeout", "900");
    Ok(plugged.into_iter().fold(vm, |vm, card| {
        vm.option("--hotplug", format!("nic,model={card},net=none"))
    }))
}

fn dump(before: &str) -> String {
    format!("{before}\n{}", dump::SCRIPT)
}

#[test]
fn on_each_nic_a_trial_that_is_taken_back_leaves_everything_as_before() -> Result<(), Trouble> {
    const NAME: &str = "on_each_nic_a_trial_that_is_taken_back_leaves_everything_as_before";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let probes = CARDS.iter().fold(Probes::new(), |probes, card| {
        let [before, tried, live, back, after] = card.answers;
        let site = format!("{FUNCTIONS}\nsite $(card {})", card.driver);
        probes
            .ask(before, &dump(&site))
            .ask(tried, "dtn-firstboot try")
            .ask(live, dump::SCRIPT)
            .ask(back, "dtn-firstboot rollback")
            .ask(after, dump::SCRIPT)
    });
    let (_, answers) = shelf(NAME)?.ask(&probes)?;
    for card in &CARDS {
        taken_back(card, &answers);
    }
    Ok(())
}

fn taken_back(card: &Card, answers: &Answers) {
    let [before, tried, live, back, after] = card.answers;
    let dump = |name: &str| normal(&answers.text(name));
    assert_eq!(
        answers.get(tried).code,
        0,
        "{}: {}",
        card.driver,
        answers.text(tried)
    );
    let changed = difference(&dump(before), &dump(live));
    say(&format!(
        "{}: {} lines of the dump differ while it is tried\n{}",
        card.driver,
        changed.len(),
        answers.text(tried)
    ));
    let of_the_card = |line: &&String| !line.contains("[sysctl]") && !line.contains("[files]");
    assert!(
        changed.iter().any(|line| line.contains("[sysctl]")),
        "{}: {changed:#?}",
        card.driver
    );
    assert!(
        changed.iter().filter(of_the_card).count() > 0,
        "{}: {changed:#?}",
        card.driver
    );
    assert_eq!(
        answers.get(back).code,
        0,
        "{}: {}",
        card.driver,
        answers.text(back)
    );
    let left = difference(&dump(before), &dump(after));
    assert_eq!(
        left,
        Vec::<String>::new(),
        "{}: {}",
        card.driver,
        answers.text(back)
    );
}

#[test]
fn what_was_tried_on_all_nics_and_committed_is_in_place_after_a_reboot() -> Result<(), Trouble> {
    const NAME: &str = "what_was_tried_on_all_nics_and_committed_is_in_place_after_a_reboot";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let drivers: Vec<String> = CARDS
        .iter()
        .map(|card| format!("$(card {})", card.driver))
        .collect();
    let first = format!(
        "{FUNCTIONS}\n[ -e /root/tried ] && exit 0\nsite {}\ndtn-firstboot try && dtn-firstboot commit && touch /root/tried",
        drivers.join(" ")
    );
    let probes = Probes::new()
        .wait_until_up()
        .ask("commit", &format!("({first})"))
        .ask("dump", dump::SCRIPT)
        .ask("audit", "dtn-firstboot audit")
        .status();
    let (_, answers) = shelf(NAME)?.option("--again", "reboot").ask_each(&probes)?;
    let [before, after] = &answers[..] else {
        panic!("{} sets of answers", answers.len());
    };
    assert_eq!(before.get("commit").code, 0, "{}", before.text("commit"));
    assert_eq!(before.get("audit").code, 0, "{}", before.text("audit"));
    let status = after.status()?;
    assert_eq!(status.state, "committed", "{}", after.all());
    assert_eq!(after.get("audit").code, 0, "{}", after.text("audit"));
    let dump = |answers: &Answers| over_a_boot(&normal(&answers.text("dump")));
    let differs = difference(&dump(before), &dump(after));
    // The port of the harness is no data port: it kept its queue in the trial, and takes the committed default when it
    // comes up.
    let (harness, others): (Vec<_>, Vec<_>) = differs.iter().partition(|line| line.contains(" enp0s2]"));
    assert_eq!(others, Vec::<&String>::new(), "{}", after.all());
    let of_queue = |line: &&String| line.contains("qdisc");
    assert!(harness.iter().all(of_queue), "{harness:?}");
    assert!(
        harness
            .iter()
            .any(|line| line.starts_with("+ [qdisc enp0s2] qdisc fq ")),
        "{harness:?}"
    );
    Ok(())
}
