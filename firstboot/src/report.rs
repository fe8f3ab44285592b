//! The report of this node: what it says of itself, put together for [`dtnforge_profiles::report`]. Reads only.

use crate::boot;
use crate::door::Doors;
use crate::flow::look;
use crate::host::Host;
use crate::{detect, sockets, status, store};
use dtnforge_profiles::facts::{Block, Facts, Nic};
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::report::{NodeRow, Parts, Report, make};
use dtnforge_profiles::state::State;
use dtnforge_profiles::status::Status;
use dtnforge_profiles::verdict::Verdict;
use std::time::Duration;

/// A plan that was tried beside what the node has stored, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct Tried<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The verdict on it.
    pub verdict: &'a Verdict,
}

/// The report of what is stored; of `tried` instead, where that is given.
pub fn of(host: &Host, tried: Option<Tried<'_>>) -> Report {
    let loaded = store::load(host);
    let doors = Doors::new(host);
    let facts = detect::detect(host);
    let findings = look::findings(host, &facts);
    let status = status::build(host, &loaded, &doors, &facts, findings);
    let stored = committed(&loaded.file.state).cloned();
    let plan = match tried {
        Some(tried) => Some(tried.plan.clone()),
        None => stored.or_else(|| would_be_tried(host, &doors)),
    };
    let sockets = sockets::on_old_settings(host).unwrap_or_else(|error| {
        log::warn!("{error}");
        Vec::new()
    });
    make(Parts {
        status: &status,
        plan: plan.as_ref(),
        verdict: tried.map(|tried| tried.verdict),
        node: &node(host, &facts, &status),
        sockets: &sockets,
        timeline: &status::moments(&status.timeline),
        made_at: &status::rfc3339(boot::now()).unwrap_or_default(),
    })
}

fn committed(state: &State) -> Option<&Plan> {
    match state {
        State::Committed(commit) => Some(&commit.plan),
        State::Held { previous } => committed(previous),
        _ => None,
    }
}

/// On a node that is stock, the plan that a trial would have. It is the one that was rejected, as long as nothing
/// changed since.
fn would_be_tried(host: &Host, doors: &Doors) -> Option<Plan> {
    match look::look(host, Duration::ZERO) {
        Ok(look) => Some(look.plan(host, doors)),
        Err(why) => {
            log::debug!("no plan: {why}");
            None
        }
    }
}

fn node(host: &Host, facts: &Facts, status: &Status) -> NodeRow {
    let name = std::fs::read_to_string(host.path("/proc/sys/kernel/hostname"));
    let name = name.map_or_else(|_| "unnamed".to_owned(), |text| text.trim().to_owned());
    let machine = &facts.host;
    let joined = |parts: &[&Option<String>]| -> Option<String> {
        let known: Vec<&str> = parts.iter().filter_map(|part| part.as_deref()).collect();
        (!known.is_empty()).then(|| known.join(" "))
    };
    let mut rows = Vec::new();
    let mut put = |what: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            rows.push((what.to_owned(), value));
        }
    };
    put("Machine", joined(&[&machine.dmi_vendor, &machine.dmi_product]));
    put("Guest", Some(status.boot.virtualised.clone()));
    put("CPU", machine.cpu_model.clone());
    put("Logical CPUs", machine.cpus.map(|count| count.to_string()));
    put("Memory", machine.memory_gib.map(|gib| format!("{gib:.1} GiB")));
    put("Kernel", Some(status.boot.kernel.clone()));
    put("Boot entry", status.boot.entry.clone());
    put("Layer", status.layer.clone());
    for nic in &facts.nics {
        put(
            &format!("NIC {}", nic.name.as_deref().unwrap_or("unnamed")),
            Some(of_nic(nic)),
        );
    }
    for disk in &facts.blocks {
        put(
            &format!("Disk {}", disk.name.as_deref().unwrap_or("unnamed")),
            Some(of_disk(disk)),
        );
    }
    NodeRow { name, facts: rows }
}

fn of_nic(nic: &Nic) -> String {
    let speed = nic.speed_mbps.filter(|&mbps| mbps > 0);
    let carrier = nic
        .carrier
        .map(|carrier| if carrier { "link" } else { "no link" });
    [
        nic.model.clone(),
        nic.driver.as_ref().map(|driver| format!("driver {driver}")),
        nic.firmware
            .as_ref()
            .map(|firmware| format!("firmware {firmware}")),
        speed.map(|mbps| format!("{mbps} Mb/s")),
        carrier.map(str::to_owned),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}

fn of_disk(disk: &Block) -> String {
    let gb = disk
        .size_bytes
        .map(|bytes| format!("{} GB", bytes / 1_000_000_000));
    [disk.model.clone(), disk.transport.clone(), gb]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}
