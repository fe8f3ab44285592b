//! The report of fio (`--output-format=json`), as far as a round needs it. Written against 3.33 and 3.39.
//!
//! fio prints warnings in front of its JSON, and sums of zero for a job that failed: the error of each job is looked at
//! first.

use serde::Deserialize;
use std::collections::BTreeMap;

/// What the two jobs of a round did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    /// Sequential read, Mb/s (10^6 bit per second, as for a network).
    pub(super) sequential_mbps: f64,
    /// 95th percentile of the completion time of a random read, ms.
    pub(super) random_p95_ms: f64,
    /// Random reads that this is out of.
    pub(super) random_reads: u64,
}

/// There is no report.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// What it printed is not its JSON.
    #[error("no JSON report: {source}; it begins with {begin:?}")]
    NotJson {
        /// What is wrong, with line and column.
        source: serde_json::Error,
        /// The first characters.
        begin: String,
    },
    /// A job failed.
    #[error("job {name} failed with errno {errno}")]
    Job {
        /// The job.
        name: String,
        /// Its error.
        errno: i64,
    },
    /// The report lacks a number.
    #[error("its report has no usable {0}")]
    Missing(&'static str),
}

#[derive(Deserialize)]
struct Raw {
    jobs: Vec<RawJob>,
}

#[derive(Deserialize)]
struct RawJob {
    jobname: String,
    #[serde(default)]
    error: i64,
    read: RawRead,
}

#[derive(Deserialize)]
struct RawRead {
    bw_bytes: Option<f64>,
    #[serde(default)]
    total_ios: u64,
    #[serde(default)]
    clat_ns: RawLatency,
}

#[derive(Deserialize, Default)]
struct RawLatency {
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// Reads what fio printed.
///
/// # Errors
/// [`FioError`].
pub(super) fn parse(text: &str) -> Result<Report, FioError> {
    let json = text.find('{').map_or(text, |begin| &text[begin..]);
    let raw: Raw = serde_json::from_str(json).map_err(|source| FioError::NotJson {
        source,
        begin: text.trim_start().chars().take(60).collect(),
    })?;
    if let Some(failed) = raw.jobs.iter().find(|job| job.error != 0) {
        return Err(FioError::Job {
            name: failed.jobname.clone(),
            errno: failed.error,
        });
    }
    let job = |name: &str, lacks| {
        let found = raw.jobs.iter().find(|job| job.jobname.ends_with(name));
        found.map(|job| &job.read).ok_or(FioError::Missing(lacks))
    };
    let sequential = job("sequential", "sequential job")?;
    let random = job("random", "random job")?;
    let usable = |number: Option<f64>, lacks| {
        number
            .filter(|number| number.is_finite() && *number > 0.0)
            .ok_or(FioError::Missing(lacks))
    };
    let p95 = random.clat_ns.percentile.get("95.000000").copied();
    Ok(Report {
        sequential_mbps: usable(sequential.bw_bytes, "bandwidth")? * 8.0 / 1e6,
        random_p95_ms: usable(p95, "95th percentile")? / 1e6,
        random_reads: random.total_ios,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OK: &str = include_str!("../fixtures/fio-3.33-ok.json");

    #[test]
    fn a_report_of_3_33_is_read_behind_its_warnings() {
        let report = parse(&format!("fio: blocksize is larger than data set range\n{OK}")).unwrap();
        assert!(
            (report.sequential_mbps - 570_903_016.0 * 8.0 / 1e6).abs() < 1e-6,
            "{report:?}"
        );
        assert!((report.random_p95_ms - 0.067_072).abs() < 1e-9, "{report:?}");
        assert_eq!(report.random_reads, 13290);
    }

    #[test]
    fn a_job_that_failed_is_named_although_its_sums_look_whole() {
        let text = OK.replacen("\"error\": 0", "\"error\": 5", 1);
        assert_eq!(
            parse(&text).unwrap_err().to_string(),
            "job sequential failed with errno 5"
        );
    }

    #[test]
    fn a_report_without_its_numbers_says_which() {
        for (text, lacks) in [
            (r#"{"jobs":[]}"#.to_owned(), "sequential job"),
            (OK.replace("95.000000", "90.000000"), "95th percentile"),
            (
                OK.replace("\"bw_bytes\": 570903016", "\"bw_bytes\": 0"),
                "bandwidth",
            ),
        ] {
            assert_eq!(
                parse(&text).unwrap_err().to_string(),
                format!("its report has no usable {lacks}")
            );
        }
    }

    proptest! {
        #[test]
        fn a_report_cut_anywhere_is_an_error(cut in 0..OK.trim_end().len()) {
            prop_assert!(parse(&OK[..cut]).is_err());
        }

        #[test]
        fn rubbish_never_panics(text in any::<String>()) {
            prop_assert!(parse(&text).is_err());
        }
    }
}
