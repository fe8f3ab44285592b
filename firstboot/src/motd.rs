//! The message of the day: what an admin who logs in should know, in one or two lines.

use crate::atomic;
use crate::events;
use crate::host::Host;
use crate::status;
use dtnforge_profiles::state::{State, StateFile};
use log::Level;

/// Where pam_motd looks.
pub const MOTD_PATH: &str = "/run/motd.d/50-dtnforge";
/// Longest reason that is shown, in characters; `status` has the whole.
const LONGEST: usize = 240;

/// Writes the message for the present state. A node whose message cannot be written is none the worse for it.
pub fn write(host: &Host, file: &StateFile) {
    if let Err(error) = atomic::write(&host.path(MOTD_PATH), text(file).as_bytes(), 0o644) {
        let about = events::About::default();
        events::tell(Level::Debug, events::BOOT_RECORDED, about, &error.to_string());
    }
}

fn text(file: &StateFile) -> String {
    let reason = one_line(&status::reason(file, None));
    let mut text = format!("dtnforge: {}: {reason}\n", file.state.name());
    if let Some(failure) = &file.counting.failure {
        text += &format!(
            "dtnforge: the boot counter could not be armed: {}\n",
            one_line(failure)
        );
    } else if !matches!(
        file.state,
        State::Committed(_) | State::Trial { former: Some(_), .. }
    ) {
        text += "dtnforge: no tuning is active; `dtn-firstboot status` says more\n";
    }
    text
}

/// Nothing that came from outside may move the cursor of whoever logs in.
fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match clean.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &clean[..end]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_sees_the_state_and_its_reason() {
        let text = text(&StateFile::stock("role not set"));
        assert_eq!(
            text,
            "dtnforge: stock: role not set\ndtnforge: no tuning is active; `dtn-firstboot status` says more\n"
        );
    }

    #[test]
    fn a_reason_stays_on_its_line_and_has_an_end() {
        let mut file = StateFile::stock(&("\x1b[2Jhello\nworld".to_owned() + &"x".repeat(500)));
        file.counting.failure = Some("read-only\nhint: remount".into());
        let text = text(&file);
        assert_eq!(text.lines().count(), 2, "{text:?}");
        assert!(!text.contains('\x1b') && text.contains("..."), "{text:?}");
        assert!(
            text.contains("could not be armed: read-only hint: remount"),
            "{text}"
        );
    }
}
