//! The value that a profile wants on a host: formula and site put in, then lowered to what the host can bear.

use super::origin::{Origin, ValueOrigin};
use super::{Lowered, Target};
use crate::catalog::{Buffer, KnobLine, Profile, SiteChoice, memory_cap};
use crate::conclude::Conclusions;
use crate::facts::Facts;
use crate::group::Group;
use crate::knob::{KnobDef, KnobId};
use crate::site::Site;
use crate::value::Value;

/// What is to be written, and how that came about.
pub(super) struct Wanted {
    pub(super) value: Value,
    pub(super) lowered: Option<Lowered>,
    pub(super) why: String,
    pub(super) origin: Origin,
}

/// What a profile asks for, before the host is looked at.
struct Asked {
    value: Value,
    why: String,
    origin: ValueOrigin,
}

/// Everything that values are computed from.
pub(super) struct Inputs<'a> {
    pub(super) profile: &'a Profile,
    pub(super) facts: &'a Facts,
    pub(super) seen: &'a Conclusions,
    pub(super) site: &'a Site,
    pub(super) target: &'a Target,
}

impl Inputs<'_> {
    /// The value for one knob.
    ///
    /// # Errors
    /// Why there is none: a sentence for [`super::Skipped`].
    pub(super) fn wanted(&self, line: &KnobLine, knob: &KnobId) -> Result<Wanted, String> {
        self.for_this_link(line)?;
        let Asked { value, why, origin } = match line.value.decision() {
            Some(decision) => self.decided(line, decision, knob)?,
            None => self.asked(line)?,
        };
        let (value, by_module) = self.with_module(line, value)?;
        let (value, by_memory) = self.within_memory(line, value)?;
        let (value, by_device) = self.within_device(line.definition, knob, value)?;
        Ok(Wanted {
            value,
            lowered: by_module.or(by_memory).or(by_device),
            why,
            origin: Origin {
                inherited_from: line.inherited_from.clone(),
                value: origin,
            },
        })
    }

    /// The speed that values are made for, Mb/s.
    fn mbps(&self) -> Option<u32> {
        let own = self.profile.buffer.as_ref().and_then(|buffer| buffer.speed_mbps);
        own.or(self.seen.link_mbps)
    }

    /// Whether a line is for links of this speed.
    fn for_this_link(&self, line: &KnobLine) -> Result<(), String> {
        let wanted = match (line.min_mbps, line.max_mbps) {
            (None, None) => return Ok(()),
            (Some(min), None) => format!("for links of {min} Mb/s and more"),
            (None, Some(max)) => format!("for links of at most {max} Mb/s"),
            (Some(min), Some(max)) => format!("for links of {min} to {max} Mb/s"),
        };
        match self.mbps() {
            Some(mbps) if line.is_for_link(mbps) => Ok(()),
            Some(mbps) => Err(format!("{wanted}, and this one has {mbps}")),
            None => Err(format!("{wanted}, and the speed of this one is not known")),
        }
    }

    /// What the site decided; a profile has no value of its own for it.
    fn decided(&self, line: &KnobLine, decision: SiteChoice, knob: &KnobId) -> Result<Asked, String> {
        let key = decision.key();
        let value = match decision {
            SiteChoice::Mtu => self.site.mtu.map(|mtu| Value::from(i64::from(mtu))),
            SiteChoice::Pause => self.site.pause.map(|pause| Value::new(pause.word())),
            SiteChoice::Pacing => self.site.pacing_mbps.map(|rate| Value::from(i64::from(rate))),
        };
        let value = value.ok_or_else(|| format!("left as it is: the site decides it (key `{key}`)"))?;
        if let (SiteChoice::Mtu, Some(bond)) = (decision, self.bond_above(knob)) {
            return Err(format!(
                "a leg of {bond}, and the MTU is set on that, by what manages it"
            ));
        }
        let why = match (decision, self.site.pacing_mbps) {
            (SiteChoice::Pacing, Some(rate)) => format!("{}{}", line.why, self.all_streams(rate)?),
            _ => line.why.clone(),
        };
        Ok(Asked {
            value,
            why,
            origin: ValueOrigin::Site(key.to_owned()),
        })
    }

    /// What flows of `rate` Mb/s make together, beside the speed of the link.
    ///
    /// # Errors
    /// When the link itself holds a flow to that rate.
    fn all_streams(&self, rate: u32) -> Result<String, String> {
        let Some(mbps) = self.mbps() else {
            return Ok(String::new());
        };
        if rate >= mbps {
            return Err(format!(
                "the site limits a flow to {rate} Mb/s, and the link has {mbps}"
            ));
        }
        let usual = self.profile.buffer.as_ref().map(|buffer| buffer.streams);
        let streams = self.site.streams.or(usual).unwrap_or(1);
        let total = u64::from(streams) * u64::from(rate);
        Ok(format!(
            " ({streams} streams of {rate} Mb/s: {total} of {mbps} Mb/s)"
        ))
    }

    /// What the profile asks for, with the formula's result and the site's own choice put in.
    fn asked(&self, line: &KnobLine) -> Result<Asked, String> {
        if is_congestion_control(line)
            && let Some(name) = &self.site.congestion_control
        {
            return Ok(Asked {
                value: Value::new(name),
                why: format!("the site chose it; the profile has {}", line.value.as_str()),
                origin: ValueOrigin::Site("congestion_control".to_owned()),
            });
        }
        let plain = line.value.resolve(None).map(|value| Asked {
            value,
            why: line.why.clone(),
            origin: ValueOrigin::Written,
        });
        match (plain, &self.profile.buffer) {
            (Some(plain), _) => Ok(plain),
            (None, Some(buffer)) => self.with_buffer(line, buffer),
            (None, None) => Err("the profile has no [buffer] table".to_owned()),
        }
    }

    fn with_buffer(&self, line: &KnobLine, buffer: &Buffer) -> Result<Asked, String> {
        let mbps = self.mbps().ok_or("the speed of the link is not known")?;
        let streams = self.site.streams.unwrap_or(buffer.streams);
        let sized = buffer.sized(mbps, self.site.rtt_ms, streams);
        let value = line
            .value
            .resolve(Some(sized.bytes))
            .ok_or("the value cannot be resolved")?;
        Ok(Asked {
            value,
            why: format!("{} ({})", line.why, sized.formula),
            origin: ValueOrigin::Formula,
        })
    }

    /// A value that needs a module which the kernel lacks becomes the profile's own, or none: one effective value.
    fn with_module(&self, line: &KnobLine, value: Value) -> Result<(Value, Option<Lowered>), String> {
        let Some(module) = self.missing_module(line.definition, &value) else {
            return Ok((value, None));
        };
        let why = format!("the kernel has no module {module}");
        let own = line.value.resolve(None).filter(|own| *own != value);
        match own.filter(|own| self.missing_module(line.definition, own).is_none()) {
            Some(own) => Ok((own, Some(Lowered { asked: value, why }))),
            None => Err(format!("{why}, which {value} needs")),
        }
    }

    fn missing_module(&self, definition: &KnobDef, value: &Value) -> Option<&'static str> {
        let module = module_for(definition, value)?;
        let modules = self.target.modules.as_ref()?;
        (!modules.contains(module)).then_some(module)
    }

    fn within_memory(&self, line: &KnobLine, value: Value) -> Result<(Value, Option<Lowered>), String> {
        let buffer = self.profile.buffer.as_ref();
        let own = buffer.filter(|_| line.definition.group == Group::TcpBuffers);
        let Some(divisor) = line.ram_divisor.or_else(|| own.map(|buffer| buffer.ram_divisor)) else {
            return Ok((value, None));
        };
        let Some(memory) = self.memory() else {
            // Offline there is no host to be too small.
            let unknown = Err("the size of memory is not known".to_owned());
            return if self.target.offline {
                Ok((value, None))
            } else {
                unknown
            };
        };
        let cap = memory_cap(memory, divisor);
        let gib = memory / (1 << 20);
        let lowered = lower(&value, cap).map(|lower| (lower, format!("memory: {gib} MiB / {divisor}")));
        Ok(record(value, lowered))
    }

    fn memory(&self) -> Option<u64> {
        let gib = self.facts.host.memory_gib.filter(|gib| (0.0..1e9).contains(gib));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        let stated = gib.map(|gib| (gib * 1_073_741_824.0) as u64);
        self.target.memory_bytes.or(stated)
    }
}

fn is_congestion_control(line: &KnobLine) -> bool {
    line.definition.pattern == "sysctl:net.ipv4.tcp_congestion_control"
}

/// The module that a value needs, when it needs one.
pub(super) fn module_for(definition: &KnobDef, value: &Value) -> Option<&'static str> {
    let needs = definition
        .modules
        .iter()
        .find(|(needs, _)| *needs == value.as_str());
    needs.map(|(_, module)| *module)
}

pub(super) fn record(asked: Value, lowered: Option<(Value, String)>) -> (Value, Option<Lowered>) {
    match lowered {
        Some((value, why)) => (value, Some(Lowered { asked, why })),
        None => (asked, None),
    }
}

/// `value` with no field above `cap`; `None` when none is.
pub(super) fn lower(value: &Value, cap: i64) -> Option<Value> {
    let fields = value.integers()?;
    if fields.iter().all(|field| *field <= cap) {
        return None;
    }
    let capped: Vec<String> = fields.iter().map(|field| (*field).min(cap).to_string()).collect();
    Some(Value::new(&capped.join(" ")))
}

/// The field that says how large a value is: the last of a vector.
pub(super) fn size_of(value: &Value) -> Option<i64> {
    value.integers()?.last().copied()
}
