//! `dtn-firstboot try`.

use crate::flow::Context;
use crate::flow::window::{self, Wish};
use crate::host::Host;
use crate::{notify, store};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::group::Group;
use std::time::Duration;

/// Shortest and longest time to confirm.
const WITHIN: std::ops::RangeInclusive<Duration> = Duration::from_secs(5)..=Duration::from_secs(86_400);

/// Put the profile of this host in for an admin, without measuring.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every value is written in the order of its dependencies, with its way back on disk before the write, and read \
back. When a value is refused, or the node loses its network, all is taken back. Nothing of it is kept over a reboot.

With --confirm-within the values go by themselves unless `dtn-firstboot confirm` comes in time, whatever becomes of the \
session that they were tried in.

Ends with 0 when the values are live, 4 when they were taken back and read, 5 when they could not be taken back, 6 when held.

Example: dtn-firstboot try --confirm-within 120s"
)]
pub struct Args {
    /// Take it back unless confirmed within this time after the last write, for instance 120s or 10m.
    #[arg(long, value_name = "TIME", value_parser = within)]
    confirm_within: Option<Duration>,
    /// Only this group of the profile, for instance tcp-buffers; may be given more than once.
    #[arg(long = "group", value_name = "GROUP", value_parser = group)]
    groups: Vec<Group>,
    /// Measure, and commit or take back by the numbers, as the boot does.
    #[arg(long, conflicts_with_all = ["confirm_within", "groups"])]
    prove: bool,
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Reads a time to confirm.
///
/// # Errors
/// When it is no time, or out of range.
pub(super) fn within(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if WITHIN.contains(&time) {
        Ok(time)
    } else {
        Err("expected 5s to 24h".to_owned())
    }
}

fn group(text: &str) -> Result<Group, String> {
    let known = Group::ALL.into_iter().find(|group| group.name() == text);
    known.ok_or_else(|| {
        let names = Group::ALL.map(Group::name);
        format!("expected one of {}", names.join(", "))
    })
}

/// Tries the profile and says what is live.
///
/// # Errors
/// Why nothing was tried.
pub fn run(host: Host, args: &Args) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    notify::catch_stop()?;
    if args.confirm_within.is_some() {
        // The session may be lost by what is tried: that is what the watcher is for.
        notify::outlive_session()?;
    }
    let mut context = Context::open(host);
    let wish = Wish {
        confirm_within: args.confirm_within,
        groups: args.groups.clone(),
        prove: args.prove,
    };
    let ended = window::begin(&mut context, &wish)?;
    super::window::tell(&context, &ended, args.json)
}
