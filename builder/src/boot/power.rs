//! The machine's power, and what has to be wired before its first instruction: cables and the forwarded port.
//!
//! QEMU starts stopped. When the power fails and comes back, a new QEMU starts over the same files, as a machine does
//! over its disks and its firmware's variables, and everything is wired as it was: a cable that was pulled stays out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use serde_json::json;

use super::boots::Began;
use super::error::BootError;
use super::machine::nic_id;
use super::process::{Event, Process};
use super::qemu::QemuTree;
use super::reach::Reach;
use super::session::{Session, Stop};
use super::{note, qmp};

/// How QEMU is started.
#[derive(Debug)]
pub struct Power {
    /// Where QEMU comes from.
    pub tree: QemuTree,
    /// Its arguments; the machine starts stopped.
    pub args: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
}

impl Power {
    /// Starts QEMU; what is heard of it arrives at the receiver.
    ///
    /// # Errors
    /// As [`Process::start`].
    pub fn on(&self) -> Result<(Process, Receiver<Event>), BootError> {
        let (say, hear) = std::sync::mpsc::channel();
        // Only the channels' readers keep the stream of events open.
        let process = Process::start(&self.tree, &self.args, &self.directory, &say)?;
        Ok((process, hear))
    }
}

/// What is outside of the machine and stays when its power fails.
#[derive(Debug, Default)]
pub struct Wiring {
    /// Cards whose cable was touched, and whether it is in.
    cables: BTreeMap<String, bool>,
    forward: Option<Forward>,
}

/// A port of 127.0.0.1 that leads to the guest's port 22.
#[derive(Debug, Clone)]
pub struct Forward {
    /// The network that it leads through.
    pub net: String,
    /// The port; 0 for any free one, until one was found.
    pub port: u16,
}

impl Wiring {
    /// With these cables out.
    pub fn new(cables_out: &[String], forward: Option<Forward>) -> Wiring {
        let cables = cables_out.iter().map(|card| (card.clone(), false)).collect();
        Wiring { cables, forward }
    }
}

impl Session {
    /// Wires the stopped machine and sets it going.
    ///
    /// # Errors
    /// QEMU's words when it refuses.
    pub fn switch_on(&mut self) -> Result<(), Stop> {
        let out: Vec<String> = self
            .wiring
            .cables
            .iter()
            .filter(|(_, up)| !**up)
            .map(|(card, _)| card.clone())
            .collect();
        for card in out {
            self.command("set_link", &json!({ "name": card, "up": false }))?;
        }
        self.forward_port()?;
        self.command("cont", &json!(null)).map(drop)
    }

    /// Cuts the power and brings it back.
    ///
    /// # Errors
    /// QEMU cannot be killed or started.
    pub fn power_cycle(&mut self) -> Result<(), Stop> {
        note("the power fails and comes back");
        self.cut_power()?;
        let (process, events) = self.power.on()?;
        self.replace(process, events);
        self.begin_boot(Began::PowerCycle);
        self.switch_on()
    }

    /// Kills QEMU on the spot.
    pub(super) fn cut_power(&mut self) -> Result<(), BootError> {
        self.process.kill().map(drop).map_err(|source| BootError::Qemu {
            action: "cannot kill QEMU",
            source,
        })
    }

    /// Plugs in or pulls the cable of the `nic`th card, from 1.
    pub(super) fn set_cable(&mut self, nic: u8, up: bool) -> Result<(), Stop> {
        let card = nic_id(nic);
        note(&format!(
            "the cable of {card} is {}",
            if up { "plugged in" } else { "pulled" }
        ));
        self.command("set_link", &json!({ "name": card, "up": up }))?;
        self.wiring.cables.insert(card, up);
        Ok(())
    }

    /// The forwarded port, if there is one.
    pub fn forwarded_port(&self) -> Option<u16> {
        self.wiring.forward.as_ref().map(|forward| forward.port)
    }

    /// Forwards the port of 127.0.0.1, and of no other address, to the guest's port 22, and watches it.
    fn forward_port(&mut self) -> Result<(), Stop> {
        let Some(Forward { net, port }) = self.wiring.forward.clone() else {
            return Ok(());
        };
        let refused = self.human(&format!("hostfwd_add {net} tcp:127.0.0.1:{port}-:22"))?;
        if !refused.trim().is_empty() {
            let command = format!("a forward of port {port}");
            let reason = refused.trim().to_owned();
            return Err(BootError::Qmp { command, reason }.into());
        }
        if self.reach.is_none() {
            let port = qmp::forwarded_port(&self.human("info usernet")?).unwrap_or(port);
            note(&format!("ssh to the guest: ssh -p {port} root@127.0.0.1"));
            self.reach = Some(Reach::watch(port));
            self.wiring.forward = Some(Forward { net, port });
        }
        Ok(())
    }

    /// A command that QEMU only has in its monitor for people; its text.
    fn human(&mut self, line: &str) -> Result<String, Stop> {
        let answer = self.command("human-monitor-command", &json!({ "command-line": line }))?;
        Ok(answer.as_str().unwrap_or_default().to_owned())
    }
}
