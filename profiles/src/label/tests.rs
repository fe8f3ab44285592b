use super::*;
use crate::knob::Disrupts;
use crate::plan::Reading;

const SWAP: &str = "sysctl:vm.swappiness";
const BYTES: &str = "sysctl:vm.dirty_bytes";
const RATIO: &str = "sysctl:vm.dirty_ratio";
const LEAF: &str = "qdisc/0000:01:00.0+02:00:00:00:00:01:leaf";
const MTU: &str = "nic/0000:01:00.0+02:00:00:00:00:01:mtu";
const RING: &str = "nic/0000:01:00.0+02:00:00:00:00:01:ring.rx";

fn knob(text: &str) -> KnobId {
    text.parse().unwrap()
}

fn saved(value: &str, back: Undo) -> Saved {
    Saved {
        value: value.into(),
        back,
        owner: None,
    }
}

fn plain(name: &str, value: &str) -> (KnobId, Saved) {
    (knob(name), saved(value, Undo::Write(value.into())))
}

fn by_twin(ratio: &str) -> (KnobId, Saved) {
    let back = Undo::WriteTwin {
        twin: knob(RATIO),
        value: ratio.into(),
        before: "0".into(),
    };
    (knob(BYTES), saved("0", back))
}

fn snapshot(knobs: impl IntoIterator<Item = (KnobId, Saved)>) -> Snapshot {
    Snapshot {
        schema: LABEL_SCHEMA,
        label: "before".parse().unwrap(),
        at: 1,
        boot_id: "b".into(),
        kernel: "6.12".into(),
        fingerprint: Digest::of(b"host"),
        state: "stock".into(),
        profile: None,
        knobs: knobs.into_iter().collect(),
        left_out: vec![],
        devices: [("0000:01:00.0+02:00:00:00:00:01".to_owned(), "eth0".to_owned())].into(),
    }
}

fn live(values: &[(&str, &str)]) -> BTreeMap<KnobId, Reading> {
    values
        .iter()
        .map(|(name, value)| (knob(name), Reading::Is((*value).into())))
        .collect()
}

fn told(differences: &[Difference]) -> Vec<String> {
    let show = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
    differences
        .iter()
        .map(|it| format!("{} {} {}", it.knob, show(&it.saved), show(&it.other)))
        .collect()
}

fn free(_: &KnobId, _: &crate::knob::KnobDef) -> Option<String> {
    None
}

#[test]
fn a_label_reads_back_and_damage_is_named() {
    let snapshot = snapshot([plain(SWAP, "60"), by_twin("20")]);
    let text = snapshot.to_text().unwrap();
    assert_eq!(parse(text.as_bytes(), &snapshot.label).unwrap(), snapshot);
    for cut in 0..text.trim_end().len() {
        assert!(
            parse(&text.as_bytes()[..cut], &snapshot.label).is_err(),
            "cut at {cut}"
        );
    }
    assert_eq!(
        parse(b"{\"schema\": 9}", &snapshot.label),
        Err(BadSnapshot::Newer { found: 9 })
    );
    let other = parse(text.as_bytes(), &"after".parse().unwrap()).unwrap_err();
    assert_eq!(
        other.to_string(),
        "it holds the label before, not the one that its name says"
    );
}

#[test]
fn only_what_differs_is_told_and_a_knob_of_one_side_too() {
    let before = snapshot([plain(SWAP, "60"), plain(MTU, "1500"), plain(RING, "512")]);
    let after = snapshot([plain(SWAP, "10"), plain(MTU, "1500")]);
    assert_eq!(
        told(&before.differences(&after)),
        [format!("{SWAP} 60 10"), format!("{RING} 512 -")]
    );
    assert_eq!(before.differences(&before), []);
    assert_eq!(before.differences(&after)[1].device.as_deref(), Some("eth0"));
}

#[test]
fn a_ratio_that_is_in_force_is_compared_and_one_that_gave_way_to_bytes_is_not() {
    let (twenty, forty) = (snapshot([by_twin("20")]), snapshot([by_twin("40")]));
    assert_eq!(told(&twenty.differences(&forty)), [format!("{RATIO} 20 40")]);
    let bytes = snapshot([plain(BYTES, "4294967296")]);
    assert_eq!(
        told(&twenty.differences(&bytes)),
        [format!("{BYTES} 0 4294967296")]
    );
}

#[test]
fn leaves_that_differed_are_the_same_as_the_one_kind_that_comes_back() {
    let mixed = (
        knob(LEAF),
        saved(
            "fq_codel pfifo_fast",
            Undo::DelQdisc {
                before: "fq_codel".into(),
            },
        ),
    );
    let one = (
        knob(LEAF),
        saved(
            "fq_codel",
            Undo::DelQdisc {
                before: "fq_codel".into(),
            },
        ),
    );
    let (mixed, one) = (snapshot([mixed]), snapshot([one]));
    assert_eq!(mixed.differences(&one), []);
    assert_eq!(one.differences(&mixed), []);
    let plan = restore_plan(&mixed, &live(&[(LEAF, "fq_codel")]), &free);
    assert_eq!((plan.steps.len(), plan.as_saved.len()), (0, 1));
}

#[test]
fn a_restore_writes_what_differs_in_the_order_of_its_dependencies() {
    let saved = snapshot([plain(RING, "512"), plain(MTU, "1500"), plain(SWAP, "60")]);
    let now = live(&[(RING, "8192"), (MTU, "9000"), (SWAP, "60")]);
    let plan = restore_plan(&saved, &now, &free);
    let steps: Vec<_> = plan
        .steps
        .iter()
        .map(|step| format!("{} {} {} {:?}", step.knob, step.from, step.to, step.disrupts))
        .collect();
    assert_eq!(
        steps,
        [format!("{MTU} 9000 1500 Link"), format!("{RING} 8192 512 Link")],
        "the MTU before the ring"
    );
    assert_eq!(plan.as_saved, [knob(SWAP)]);
    assert_eq!(plan.steps[0].source, "label before");
}

#[test]
fn a_ratio_that_was_in_force_is_put_back_although_the_bytes_read_the_same() {
    let saved = snapshot([by_twin("20")]);
    let plan = restore_plan(&saved, &live(&[(BYTES, "0"), (RATIO, "40")]), &free);
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(
        plan.steps[0].why,
        "as saved: sysctl:vm.dirty_ratio = 20 was in force"
    );
    assert_eq!(
        restore_plan(&saved, &live(&[(BYTES, "0"), (RATIO, "20")]), &free).steps,
        []
    );
}

#[test]
fn what_is_gone_unsupported_forbidden_or_unknown_is_listed_with_its_reason() {
    let unknown = "sysctl:net.ipv4.tcp_no_such_key";
    let saved = snapshot([
        plain(RING, "512"),
        plain(MTU, "1500"),
        plain(LEAF, "fq"),
        plain(SWAP, "60"),
        plain(unknown, "1"),
    ]);
    let mut now = live(&[(MTU, "9000"), (unknown, "2")]);
    now.insert(knob(LEAF), Reading::Unsupported("set by someone".into()));
    now.insert(knob(SWAP), Reading::Absent);
    let forbid = |_: &KnobId, definition: &crate::knob::KnobDef| {
        (definition.disrupts == Disrupts::Link).then(|| "a member of bond0".to_owned())
    };
    let plan = restore_plan(&saved, &now, &forbid);
    assert_eq!(plan.steps, []);
    let left: Vec<_> = plan
        .left
        .iter()
        .map(|left| format!("{}: {}", left.device.as_deref().unwrap_or("-"), left.why))
        .collect();
    assert_eq!(
        left,
        [
            "-: this version does not know it",
            "-: not on this host now",
            "eth0: a member of bond0",
            "eth0: the device is gone",
            "eth0: not supported now: set by someone",
        ]
    );
}
