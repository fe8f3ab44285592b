//! `dtn-firstboot boot entries`: the firmware's own entries for this disk, so that it finds stock when the boot loader
//! or an entry cannot be loaded.

use crate::boot::firmware;
use crate::host::Host;
use crate::siteconf;
use anyhow::Context as _;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::site::FirmwareEntries;

/// Adds what is missing, unless the site keeps its boot order to itself, and says what was done; the unit's journal has it.
///
/// # Errors
/// When the site file cannot be read, or the firmware does not take the entries.
pub(super) fn run(host: &Host) -> anyhow::Result<Exit> {
    let site =
        siteconf::written(host).context("whether the firmware may be given boot entries is not known")?;
    let done = match site.firmware_entries.unwrap_or_default() {
        FirmwareEntries::Add => firmware::add_entries(host)?,
        FirmwareEntries::Leave => "the firmware's boot entries are left alone, as the site says".to_owned(),
    };
    super::super::print(&format!("{done}\n"))?;
    Ok(Exit::Ok)
}
