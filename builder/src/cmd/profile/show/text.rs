//! A profile as text: by the base that a value was inherited from, or by group.

use super::{Line, Shown};
use dtnforge_profiles::catalog::Wanted;
use std::fmt::{self, Write as _};

/// The section of values that no base has.
const OWN: &str = "of its own";

impl Shown<'_> {
    /// As the files say it: the profile's own values first, then those of each base.
    pub(super) fn by_base(&self) -> String {
        let base = |line: &Line<'_>| match &line.origin.inherited_from {
            None => OWN.to_owned(),
            Some(base) => format!("inherited from {base}"),
        };
        self.text(base, |line, text| line.write_as_written(text))
    }

    /// As they will be, by what stands or falls together.
    pub(super) fn by_group(&self) -> String {
        self.text(
            |line| line.group.to_owned(),
            |line, text| line.write_resolved(text),
        )
    }

    fn text(
        &self,
        section_of: impl Fn(&Line<'_>) -> String,
        write: impl Fn(&Line<'_>, &mut String) -> fmt::Result,
    ) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write_head(&mut text);
        let mut sections: Vec<String> = Vec::new();
        for section in self.values.iter().map(&section_of) {
            if !sections.contains(&section) {
                sections.push(section);
            }
        }
        sections.sort_by_key(|section| section != OWN);
        for section in sections {
            let _ = writeln!(text, "\n[{section}]");
            for line in self.values.iter().filter(|line| section_of(line) == section) {
                let _ = write(line, &mut text);
            }
        }
        let _ = self.write_advice(&mut text);
        text
    }

    fn write_head(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "{}: {}", self.name, self.title)?;
        let guest = match self.virtualised {
            Wanted::Yes => "guests",
            Wanted::No => "machines, not guests",
            Wanted::Any => "",
        };
        let speeds = match (self.min_mbps, self.max_mbps) {
            (None, None) => String::new(),
            (min, None) => format!("{} Mb/s and more", min.unwrap_or(1)),
            (min, Some(max)) => format!("{} to {max} Mb/s", min.unwrap_or(1)),
        };
        for (what, who) in [
            ("role", self.roles.join(", ")),
            ("link", self.links.join(", ")),
            ("link", speeds),
            ("storage", self.storage.join(", ")),
            ("driver", self.drivers.join(", ")),
            ("host", guest.to_owned()),
        ] {
            if !who.is_empty() {
                writeln!(text, "  {what}: {who}")?;
            }
        }
        if let Some(buffer) = &self.buffer {
            writeln!(
                text,
                "  buffer: {}, at most memory / {}",
                buffer.text, buffer.ram_divisor
            )?;
        }
        match &self.tuned {
            Some(tuned) if tuned.repeat.is_empty() => writeln!(text, "  tuned: includes {}", tuned.include),
            Some(tuned) => {
                writeln!(
                    text,
                    "  tuned: includes {}, repeats {}",
                    tuned.include,
                    tuned.repeat.join(", ")
                )
            }
            None => Ok(()),
        }
    }

    fn write_advice(&self, text: &mut String) -> fmt::Result {
        if !self.advice.is_empty() {
            writeln!(text, "\n[for the administrator]")?;
        }
        for advice in self.advice {
            let stores: Vec<_> = advice.storage.iter().map(|class| class.name()).collect();
            let only = if stores.is_empty() {
                String::new()
            } else {
                format!(" ({})", stores.join(", "))
            };
            writeln!(text, "{}{only}\n    where: {}", advice.set, advice.place)?;
            writeln!(text, "    {}\n    source: {}", advice.why, advice.source)?;
        }
        Ok(())
    }
}

impl Line<'_> {
    fn write_as_written(&self, text: &mut String) -> fmt::Result {
        let value = format!("{} = {} {}", self.knob, self.value, self.unit);
        let resolved = self.resolved.as_ref().filter(|resolved| *resolved != self.value);
        let resolved = resolved.map_or(String::new(), |resolved| format!("  -> {resolved}"));
        writeln!(
            text,
            "{}{resolved}\n    {}\n    source: {}",
            value.trim_end(),
            self.written_why,
            self.source
        )
    }

    fn write_resolved(&self, text: &mut String) -> fmt::Result {
        match (&self.resolved, &self.unresolved) {
            (Some(value), _) => writeln!(
                text,
                "{}",
                format!("{} = {value} {}", self.knob, self.unit).trim_end()
            )?,
            (None, why) => writeln!(
                text,
                "{}: none, {}",
                self.knob,
                why.as_deref().unwrap_or_default()
            )?,
        }
        writeln!(
            text,
            "    {}\n    source: {}\n    origin: {}",
            self.why, self.source, self.origin
        )
    }
}
