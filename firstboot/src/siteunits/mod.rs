//! Units of the site around the verdict: those that are told of it, and those that wait for it.
//!
//! [`announce`] starts `dtnforge-verdict@STATE.target`, a hook for any unit of a site, once a state that stays is on disk.
//!
//! The services that a site names (`services_after_verdict`) start after the verdict, so that no transfer runs through a
//! trial. [`order`] writes a drop-in for each of them: it is called by a generator of systemd, before any unit is loaded,
//! and again after a seed may have written `site.toml`. [`wait`] is what the drop-ins order them behind: a unit that ends
//! with the agent, or at the site's deadline, when it stops the agent first. An agent that dies, is held or is not there
//! has ended.

pub mod announce;
pub mod order;
pub mod wait;

#[cfg(test)]
mod testing;
