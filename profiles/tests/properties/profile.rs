//! Profiles at random: any settings of the registry, with values that fit and values that do not, and any texts.

use dtnforge_profiles::knob::{KnobDef, Owner, REGISTRY, ValueKind};
use proptest::prelude::*;
use toml::{Table, Value};

/// A text that tries to get out of where it is put.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-zA-Z0-9 .,:()-]{1,40}",
        2 => "\\PC{1,40}",
        1 => "(.|\n|\r|\t){1,40}",
        1 => prop::sample::select(vec![
            "x\", RUN+=\"/bin/sh",
            "x\nnet.ipv4.ip_forward = 1",
            "x\r\n[script]\nscript=/tmp/x",
            "x\u{2028}vm.swappiness = 0",
            "x\u{85}kernel.panic = 1",
            "${f:exec:/bin/sh:-c:id}",
            "a # b ; c",
            "x\\",
            "$env{PATH} %k $name",
        ])
        .prop_map(str::to_owned),
    ]
}

/// A value for a knob; most fit its type.
fn value(knob: &'static KnobDef) -> BoxedStrategy<String> {
    let fits: BoxedStrategy<String> = match knob.kind {
        ValueKind::Integer { min, max } => (min..=max.min(min.saturating_add(1 << 32)))
            .prop_map(|n| n.to_string())
            .boxed(),
        ValueKind::Triple { min, max } => (min..=max, 0..=max, 0..=max)
            .prop_map(|(a, b, c)| {
                let mut fields = [a, b.max(a), c.max(a)];
                fields.sort_unstable();
                fields.map(|field| field.to_string()).join(" ")
            })
            .boxed(),
        ValueKind::Switch => prop::sample::select(vec!["on", "off"])
            .prop_map(str::to_owned)
            .boxed(),
        ValueKind::Word([]) => "[a-z_]{1,12}".boxed(),
        ValueKind::Word(words) => prop::sample::select(words).prop_map(str::to_owned).boxed(),
    };
    let computed = match (knob.kind, knob.pattern) {
        (ValueKind::Triple { .. }, _) => "4096 16384 {buffer}",
        (_, "nic/<dev>:mtu") => "{mtu}",
        (ValueKind::Switch, _) => "{pause}",
        (_, "qdisc/<dev>:maxrate") => "{pacing_mbps}",
        _ => "{buffer}",
    };
    prop_oneof![60 => fits, 6 => Just(computed.to_owned()), 1 => hostile()].boxed()
}

fn knob(definition: &'static KnobDef) -> impl Strategy<Value = Table> {
    let why = prop_oneof![40 => Just("a reason".to_owned()), 1 => hostile()];
    let source = prop_oneof![40 => Just("a source".to_owned()), 1 => hostile()];
    (value(definition), why, source, any::<bool>()).prop_map(move |(value, why, source, only_raise)| {
        let mut table = Table::new();
        let mut put = |key: &str, value: Value| table.insert(key.to_owned(), value);
        put("id", definition.pattern.replace("<dev>", "<data>").into());
        put("value", value.into());
        put("why", why.into());
        put("source", source.into());
        if only_raise && matches!(definition.kind, ValueKind::Integer { .. }) {
            put("only_raise", true.into());
        }
        if !definition.unit.is_empty() {
            put("unit", definition.unit.into());
        }
        table
    })
}

/// Sysctls that `include` would reset, so that a profile has to repeat them.
const RESET: [&str; 3] = [
    "sysctl:vm.dirty_bytes",
    "sysctl:vm.dirty_background_bytes",
    "sysctl:vm.swappiness",
];

/// The leaf of a port that comes up is the default: a profile that says both says the same.
fn agree_on_the_leaf(knobs: &mut Vec<Table>) {
    let is = |knob: &Table, id: &str| knob["id"].as_str() == Some(id);
    let Some(leaf) = knobs.iter().find(|knob| is(knob, "qdisc/<data>:leaf")).cloned() else {
        return;
    };
    knobs.retain(|knob| !is(knob, "sysctl:net.core.default_qdisc"));
    let mut default = leaf;
    default.insert("id".to_owned(), "sysctl:net.core.default_qdisc".into());
    knobs.push(default);
}

/// The text of a profile.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let settable: Vec<&'static KnobDef> = REGISTRY
        .iter()
        .filter(|knob| knob.pattern != "tuned:profile" && knob.owner != Owner::KernelCommandLine)
        .collect();
    let most = settable.len();
    let knobs = prop::sample::subsequence(settable, 0..=most)
        .prop_flat_map(|chosen| chosen.into_iter().map(knob).collect::<Vec<_>>())
        .prop_shuffle();
    let name = prop_oneof![30 => "[a-z][a-z0-9-]{0,20}", 1 => hostile()];
    let title = prop_oneof![4 => Just("A title".to_owned()), 2 => hostile()];
    let include = prop::sample::select(vec!["throughput-performance", "virtual-guest"]);
    (name, title, include, knobs).prop_map(|(name, title, include, mut knobs)| {
        agree_on_the_leaf(&mut knobs);
        let ids: Vec<&str> = knobs.iter().filter_map(|knob| knob["id"].as_str()).collect();
        let repeat: Vec<Value> = RESET
            .into_iter()
            .filter(|id| ids.contains(id))
            .map(Value::from)
            .collect();
        let tuned = Table::from_iter([
            ("include".to_owned(), include.into()),
            ("repeat".to_owned(), repeat.into()),
        ]);
        let buffer = Table::from_iter([
            ("streams".to_owned(), 8.into()),
            ("ram_divisor".to_owned(), 128.into()),
        ]);
        let mut profile = Table::new();
        profile.insert("schema".to_owned(), 1.into());
        profile.insert("name".to_owned(), name.into());
        profile.insert("title".to_owned(), title.into());
        profile.insert("roles".to_owned(), Value::Array(vec!["dtn".into()]));
        profile.insert(
            "match".to_owned(),
            Table::from_iter([("min_mbps".to_owned(), 1.into())]).into(),
        );
        profile.insert("buffer".to_owned(), buffer.into());
        profile.insert("tuned".to_owned(), tuned.into());
        profile.insert(
            "knob".to_owned(),
            Value::Array(knobs.into_iter().map(Value::Table).collect()),
        );
        profile.to_string()
    })
}
