//! All inputs, read once, and the questions that lints ask of them.

use super::catalog::CatalogView;
use super::finding::Place;
use super::input::{Input, Source};
use super::kernel::Kernel;
use super::order::{self, OrderedFile};
use super::reached::Reached;
use super::read::{BadLine, Command, Rule, commands, rules, settings_of, udev_calls};
use super::setting::{Origin, Setting};
use super::tuned::{self, TunedProfile};
use crate::conclude::{Conclusions, conclude};
use crate::facts::Facts;
use crate::site::{Role, Site};
use std::cell::OnceCell;
use std::sync::Arc;

/// What a lint would have to know to judge what it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missing(pub(super) &'static str);

/// A rule with its place.
pub(super) struct UdevRule {
    pub(super) place: Place,
    pub(super) rule: Rule,
    /// What its actions set.
    pub(super) settings: Vec<Setting>,
}

/// The commands of one script or unit.
pub(super) struct Script {
    pub(super) path: Arc<str>,
    pub(super) commands: Vec<Command>,
}

/// Everything that is known.
pub(super) struct Context<'a> {
    input: &'a Input,
    /// Files of sysctl.d, in the order in which they are read.
    pub(super) sysctl_files: Vec<OrderedFile>,
    pub(super) tuned: Vec<TunedProfile>,
    /// Whether tuned reads sysctl.d again after its own values.
    pub(super) tuned_reapplies: bool,
    pub(super) udev: Vec<UdevRule>,
    pub(super) scripts: Vec<Script>,
    pub(super) catalog: CatalogView,
    /// Lines that are not of their file's form, in udev rules.
    pub(super) bad_rules: Vec<(Place, BadLine)>,
    /// All assignments.
    pub(super) settings: Vec<Setting>,
    /// The kernel that is judged for.
    pub(super) kernel: Kernel,
    seen: Option<Conclusions>,
    reached: OnceCell<Reached>,
}

impl<'a> Context<'a> {
    pub(super) fn of(input: &'a Input) -> Self {
        let (udev, bad_rules) = udev_rules(&input.udev);
        let facts = input.host.as_ref();
        let mut context = Self {
            input,
            sysctl_files: order::ordered(&input.sysctl),
            tuned: tuned::profiles(&input.tuned, &input.tuned_library),
            tuned_reapplies: tuned::reapplies_sysctl(&input.tuned),
            udev,
            scripts: input.scripts.iter().map(script).collect(),
            catalog: CatalogView::of(input),
            bad_rules,
            settings: Vec::new(),
            kernel: facts.and_then(Kernel::of).unwrap_or_else(Kernel::of_debian_13),
            seen: facts.map(|facts| conclude(facts, &input.site)),
            reached: OnceCell::new(),
        };
        context.settings = context.all_settings();
        context
    }

    fn all_settings(&self) -> Vec<Setting> {
        let mut settings = order::settings(&self.sysctl_files);
        settings.extend(self.tuned.iter().flat_map(|profile| profile.settings.clone()));
        settings.extend(self.udev.iter().flat_map(|rule| rule.settings.clone()));
        for script in &self.scripts {
            for command in &script.commands {
                settings.extend(settings_of(command).into_iter().map(|call| {
                    let place = Place::new(&script.path, command.line);
                    Setting::new(call.what, &call.value, place, Origin::Script)
                }));
            }
        }
        let profiles = self.catalog.profiles.iter();
        settings.extend(profiles.flat_map(|view| view.settings.clone()));
        settings
    }

    /// All settings that take effect.
    pub(super) fn live(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| setting.is_live())
    }

    /// Those that take effect and are not of our catalog, whose sizes are fitted to a host by its plan.
    pub(super) fn foreign(&self) -> impl Iterator<Item = &Setting> {
        self.live()
            .filter(|setting| !matches!(setting.origin, Origin::Catalog(_)))
    }

    /// The live settings of one sysctl, given by its dotted name; a glob gives way to the key itself.
    pub(super) fn sysctl<'b>(&'b self, name: &str) -> impl Iterator<Item = &'b Setting> + use<'b> {
        let of = |setting: &&Setting| setting.key().is_some_and(|key| key.covers(name));
        let all: Vec<&Setting> = self.live().filter(of).collect();
        let exact = all.iter().any(|setting| is_exact(setting));
        all.into_iter().filter(move |setting| !exact || is_exact(setting))
    }

    /// The value of a sysctl that a host ends with: of sysctl.d, else of a script, else of tuned.
    pub(super) fn effective(&self, name: &str) -> Option<&Setting> {
        let rank = |setting: &&Setting| match setting.origin {
            Origin::SysctlD(_) => 0,
            Origin::Script => 1,
            _ => 2,
        };
        let foreign = |setting: &&Setting| !matches!(setting.origin, Origin::Catalog(_));
        self.sysctl(name).filter(foreign).min_by_key(rank)
    }

    /// Which profiles are chosen for some host; computed once.
    pub(super) fn reached(&self) -> &Reached {
        self.reached
            .get_or_init(|| Reached::of(&self.catalog.whole, self.site()))
    }

    /// What the site says.
    fn site(&self) -> &Site {
        &self.input.site
    }

    /// The facts of the host.
    pub(super) fn facts(&self) -> Result<&Facts, Missing> {
        self.input.host.as_ref().ok_or(Missing("--host FACTS"))
    }

    /// What follows from the facts of the host.
    pub(super) fn seen(&self) -> Result<&Conclusions, Missing> {
        self.seen.as_ref().ok_or(Missing("--host FACTS"))
    }

    /// The memory of the host, byte.
    pub(super) fn memory(&self) -> Result<f64, Missing> {
        let gib = self
            .facts()?
            .host
            .memory_gib
            .filter(|gib| gib.is_finite() && *gib > 0.0);
        gib.map(|gib| gib * 1_073_741_824.0)
            .ok_or(Missing("`memory_gib` in the facts of the host"))
    }

    /// The speed of the data link, Mb/s; stated by the site where there are no facts.
    pub(super) fn link_mbps(&self) -> Result<u32, Missing> {
        let seen = self.seen.as_ref().and_then(|seen| seen.link_mbps);
        seen.or(self.site().link_mbps).ok_or(Missing(
            "--host FACTS with the speed of the link, or --link-mbps N",
        ))
    }

    /// Streams that share the link, and the RTT in ms that buffers are for.
    pub(super) fn streams_and_rtt(&self) -> (u32, u32) {
        let site = &self.input.site;
        let alone = matches!(site.role, Some(Role::Perfsonar));
        (site.streams.unwrap_or(if alone { 1 } else { 8 }), site.rtt_ms)
    }

    /// The role of the host.
    pub(super) fn role(&self) -> Result<Role, Missing> {
        self.input.site.role.ok_or(Missing("--role ROLE"))
    }
}

fn is_exact(setting: &Setting) -> bool {
    setting.key().is_some_and(|key| !key.is_glob())
}

fn script(source: &Source) -> Script {
    Script {
        path: source.path.as_str().into(),
        commands: commands(&source.text),
    }
}

fn udev_rules(sources: &[Source]) -> (Vec<UdevRule>, Vec<(Place, BadLine)>) {
    let (mut all, mut bad) = (Vec::new(), Vec::new());
    for source in sources {
        let path: Arc<str> = source.path.as_str().into();
        let (rules, lines) = rules(&source.text);
        bad.extend(lines.into_iter().map(|line| (Place::new(&path, line.line), line)));
        all.extend(rules.into_iter().map(|rule| {
            let place = Place::new(&path, rule.line);
            let calls = udev_calls(&rule).into_iter();
            let settings =
                calls.map(|call| Setting::new(call.what, &call.value, place.clone(), Origin::Udev));
            UdevRule {
                settings: settings.collect(),
                place,
                rule,
            }
        }));
    }
    (all, bad)
}
