//! Looking at the machine: facts, the site's decisions, conclusions, and the profile that follows from them.

use crate::boot::{self, Mode};
use crate::detect::{self, SystemClock};
use crate::door::Door;
use crate::host::Host;
use crate::layers;
use crate::siteconf;
use crate::statefs;
use crate::target;
use dtnforge_profiles::catalog::Profile;
use dtnforge_profiles::conclude::{self, Conclusions};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::matching;
use dtnforge_profiles::plan::{self, Plan};
use dtnforge_profiles::site::{RetryAfterFallback, Site};
use std::time::Duration;

/// How long a run waits for a data NIC to get its link.
pub const CARRIER_LIMIT: Duration = Duration::from_secs(20);

/// What was seen, and what follows.
#[derive(Debug)]
pub struct Look {
    /// Facts.
    pub facts: Facts,
    /// The site's decisions.
    pub site: Site,
    /// Conclusions from both.
    pub conclusions: Conclusions,
    /// The profile, its layer, and why it was chosen.
    pub chosen: Chosen,
}

/// The profile for this machine.
#[derive(Debug)]
pub struct Chosen {
    /// The profile.
    pub profile: Profile,
    /// Its layer.
    pub layer: Digest,
    /// Why it was chosen.
    pub why: String,
}

impl Look {
    /// The plan of the chosen profile for what `host` has now. Reads only.
    pub fn plan<D: Door>(&self, host: &Host, doors: &D) -> Plan {
        let Chosen { profile, layer, .. } = &self.chosen;
        let target = target::read(host, doors, profile, &self.facts, &self.conclusions, &self.site);
        plan::make(
            profile,
            layer,
            &self.facts,
            &self.conclusions,
            &self.site,
            &target,
        )
    }
}

/// Looks at the machine, waiting up to `limit` for a link.
///
/// # Errors
/// Why there is no profile for it, one sentence: the node stays stock and says this.
pub fn look(host: &Host, limit: Duration) -> Result<Look, String> {
    let site = siteconf::load(host).map_err(|error| error.to_string())?;
    if site.role.is_none() && site.profile.is_none() {
        return Err(
            "role not set: say `role = \"dtn\"` in the image spec, a seed or /etc/dtnforge/site.toml"
                .to_owned(),
        );
    }
    let layers = layers::load(host).map_err(|error| error.to_string())?;
    let facts = settled_facts(host, limit);
    let conclusions = conclude::conclude(&facts, &site);
    let selection = matching::select(&layers.catalog, &conclusions, &site);
    let Some(profile) = selection.chosen.cloned() else {
        return Err(selection.why);
    };
    let layer = layers
        .digests
        .get(&profile.name)
        .cloned()
        .ok_or_else(|| format!("the profile {} has no layer on this node", profile.name))?;
    let chosen = Chosen {
        profile,
        layer,
        why: selection.why,
    };
    Ok(Look {
        facts,
        site,
        conclusions,
        chosen,
    })
}

/// The facts once a link is there, or the limit is over.
fn settled_facts(host: &Host, limit: Duration) -> Facts {
    let facts = detect::detect(host);
    let ports = detect::candidates(&facts);
    let waited = detect::wait_for_carrier(host, &ports, limit, &SystemClock::default());
    if waited.took.is_zero() {
        facts
    } else {
        detect::detect(host)
    }
}

/// Names the site's decisions about tuning, so that a changed decision is noticed. When a node tries again by itself is
/// none of them.
pub fn site_digest(site: &Site) -> Digest {
    let tuning = Site {
        retry_after_fallback: RetryAfterFallback::default(),
        auto_retrial: false,
        ..site.clone()
    };
    Digest::of(format!("{tuning:?}").as_bytes())
}

/// What an admin should know of this machine, for `status`: a state that is not kept, then the conclusions' findings.
/// Waits for nothing.
pub fn findings(host: &Host, facts: &Facts) -> Vec<String> {
    let is_our_image = boot::words(host).mode != Mode::Foreign;
    let not_kept = is_our_image.then(|| statefs::fault(host)).flatten();
    let not_kept = not_kept
        .map(|fault| format!("{fault}: the state and all changes on this node are gone with this boot"));
    let concluded = match siteconf::load(host) {
        Ok(site) => conclude::conclude(facts, &site).findings,
        Err(error) => vec![error.to_string()],
    };
    not_kept.into_iter().chain(concluded).collect()
}
