//! `confirm`: an admin says that the node can still be reached.

use super::{Ended, live, record};
use crate::flow::context::Context;
use anyhow::bail;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::window::{Report, Window};
use std::time::Duration;

/// What an admin says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// It stays until `commit`, `rollback` or a reboot.
    Stay,
    /// So much more time.
    Extend(Duration),
}

/// Confirms the trial that is live.
///
/// # Errors
/// When none is live (any more), or its record cannot be replaced.
pub fn confirm(context: &Context, what: Confirmation) -> anyhow::Result<Ended> {
    let Some(window) = live(&context.host, &context.file.state, &context.boot_id) else {
        bail!(
            "no trial waits to be confirmed (state {})\nhint: see `dtn-firstboot status`: it may have been taken back",
            context.file.state.name()
        );
    };
    let profile = window.commit.profile.clone();
    let (until, sentence) = match (what, window.until) {
        (_, None) => (
            None,
            format!("the trial of {profile} waits for no confirmation, and stays"),
        ),
        (Confirmation::Stay, Some(_)) => (
            None,
            format!("confirmed: the trial of {profile} stays, and is not committed"),
        ),
        (Confirmation::Extend(more), Some(until)) => {
            let until = until.saturating_add(more.as_secs());
            let left = until.saturating_sub(record::since_start());
            (
                Some(until),
                format!("the trial of {profile} is taken back in {left} s unless somebody confirms"),
            )
        }
    };
    let window = Window { until, ..window };
    record::write(&context.host, &window)?;
    let report = Report {
        profile: Some(profile),
        confirm_within_s: window.left(record::since_start()).map(|left| left.as_secs()),
        ..Ended::with(context, Exit::Ok, sentence).report
    };
    Ok(Ended {
        exit: Exit::Ok,
        report,
    })
}
