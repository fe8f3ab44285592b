//! How busy the CPUs were, so that a CPU-limited number can be told from others.

/// Counters of `/proc/stat`, one entry for all CPUs together and then one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CpuTimes(Vec<Times>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    busy: u64,
    total: u64,
}

/// Shares of time that were not idle, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Busy {
    /// Of all CPUs together.
    pub(super) all: f64,
    /// Of the busiest one: 1 means that a single stream may have been held back by its CPU.
    pub(super) busiest: f64,
}

impl CpuTimes {
    /// Reads the text of `/proc/stat`; `None` when it has no line for all CPUs.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let times: Vec<Times> = text
            .lines()
            .take_while(|line| line.starts_with("cpu"))
            .map_while(parse_line)
            .collect();
        (!times.is_empty()).then_some(Self(times))
    }

    /// What happened since `earlier`; `None` when no time has passed.
    pub(super) fn since(&self, earlier: &Self) -> Option<Busy> {
        let mut shares = self
            .0
            .iter()
            .zip(&earlier.0)
            .map(|(late, early)| late.share_since(*early));
        let all = shares.next()??;
        let busiest = shares.flatten().fold(all, f64::max);
        Some(Busy { all, busiest })
    }
}

impl Times {
    fn share_since(self, earlier: Self) -> Option<f64> {
        // A CPU that went offline and came back counts backwards; it is left out.
        let total = u32::try_from(self.total.checked_sub(earlier.total)?).ok()?;
        let busy = u32::try_from(self.busy.checked_sub(earlier.busy)?).ok()?;
        (total > 0).then(|| f64::from(busy) / f64::from(total))
    }
}

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`, in ticks. Guest time is part of user.
fn parse_line(line: &str) -> Option<Times> {
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .skip(1)
        .take(8)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let (idle, iowait) = (ticks.get(3)?, ticks.get(4)?);
    let total = ticks
        .iter()
        .try_fold(0_u64, |sum, &ticks| sum.checked_add(ticks))?;
    Some(Times {
        busy: total.checked_sub(*idle)?.checked_sub(*iowait)?,
        total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EARLY: &str = "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 50 0 50 400 0 0 0 0 0 0\ncpu1 50 0 50 400 0 0 0 0 0 0\n\
                         intr 1 2 3\n";
    const LATE: &str = "cpu  150 0 150 890 10 0 0 0 0 0\ncpu0 99 0 100 401 0 0 0 0 0 0\ncpu1 51 0 50 489 10 0 0 0 0 0\n\
                        intr 9 9 9\n";

    #[test]
    fn the_busiest_cpu_shows_what_the_mean_hides() {
        let busy = CpuTimes::parse(LATE)
            .unwrap()
            .since(&CpuTimes::parse(EARLY).unwrap())
            .unwrap();
        assert!((busy.all - 0.5).abs() < 1e-9, "{busy:?}");
        assert!((busy.busiest - 0.99).abs() < 1e-9, "{busy:?}");
    }

    #[test]
    fn counters_that_stand_still_or_run_backwards_say_nothing() {
        let (early, late) = (CpuTimes::parse(EARLY).unwrap(), CpuTimes::parse(LATE).unwrap());
        assert_eq!(early.since(&early), None);
        assert_eq!(early.since(&late), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(cpu[0-9 ]{0,60}\n){0,3}.{0,40}") {
            if let Some(times) = CpuTimes::parse(&text) {
                let _ = times.since(&times);
            }
        }
    }
}
