//! Properties of every profile that can be read and every host: its files parse, hold exactly the plan, and nothing that a
//! profile or a host is called breaks out of its line.
//!
//! Profiles and hosts are made up at random, hostile texts included; what the catalog refuses is not looked at further.
//! The files are read by small readers of their own formats, written from the manual pages, not by our code.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod host;
mod ordering;
mod profile;
mod readers;
mod rendering;

use dtnforge_profiles::catalog::{Catalog, Profile};
use dtnforge_profiles::conclude::conclude;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::plan::{Plan, Target, make};
use dtnforge_profiles::site::Site;

/// The profile that a file says, when the catalog takes it.
fn read(text: &str) -> Option<Profile> {
    let catalog = Catalog::parse(&[("made-up.toml", text)]).ok()?;
    catalog.profiles().next().cloned()
}

fn plan_of(profile: &Profile, facts: &Facts, site: &Site, target: &Target) -> Plan {
    make(
        profile,
        &Digest::of(b"layer"),
        facts,
        &conclude(facts, site),
        site,
        target,
    )
}
