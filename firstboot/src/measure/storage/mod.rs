//! Reading from the data store with fio: what schedulers and read-ahead do.
//!
//! It reads and never writes: fio runs with `--readonly`, and nothing is made on the store. Two jobs a round, one after
//! the other: a buffered sequential read, which read-ahead shapes, and direct random reads of 4 KiB one at a time, whose
//! 95th percentile shows what a queue costs. Caches are dropped for what is read, so both arms read from the medium.
//!
//! It speaks for block devices. It says nothing about dirty-page limits, because those only matter to writers.

mod fio;

pub use fio::FioError;

use super::child::Child;
use super::cpu::CpuTimes;
use super::{Deadline, Measure, MeasureError};
use crate::host::Host;
use dtnforge_profiles::decide::context;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::measure::{Arm, Better, MeasureInfo, STORAGE, Sample};
use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds that each job runs: the least number of pairs adds half a minute to a first boot.
const JOB_S: u32 = 1;

/// Time for fio to start, to lay out its threads and to print.
const AROUND: Duration = Duration::from_secs(20);

/// A file that is smaller than this is read from memory however often caches are dropped, byte.
const LEAST_BYTES: u64 = 64 << 20;

/// The measurement.
pub struct Storage {
    host: Host,
    targets: Vec<PathBuf>,
    version: Option<String>,
}

impl Storage {
    /// Reads from `targets`: block devices (`/dev/nvme0n1`) or large files, below the root of `host`.
    pub fn new(host: &Host, targets: Vec<PathBuf>) -> Self {
        Self {
            host: host.clone(),
            targets,
            version: None,
        }
    }

    /// The names of all targets for fio, which takes a colon for the end of a name.
    fn filenames(&self) -> String {
        let names = self
            .targets
            .iter()
            .map(|path| path.to_string_lossy().replace(':', "\\:"));
        names.collect::<Vec<_>>().join(":")
    }

    fn check_target(path: &Path) -> Result<(), MeasureError> {
        let file = |source| MeasureError::File {
            path: path.to_owned(),
            source,
        };
        let about = std::fs::metadata(path).map_err(file)?;
        let is_large = about.is_file() && about.len() >= LEAST_BYTES;
        if !about.file_type().is_block_device() && !is_large {
            return Err(MeasureError::Unexpected {
                path: path.to_owned(),
                expected: "a block device, or a file of 64 MiB or more",
            });
        }
        std::fs::File::open(path).map(drop).map_err(file)
    }

    fn run(&self, deadline: Deadline) -> Result<fio::Report, MeasureError> {
        let (names, runtime) = (self.filenames(), JOB_S.to_string());
        let mut command = self.host.command("fio");
        command.current_dir("/").args([
            "--output-format=json",
            "--eta=never",
            "--readonly",
            "--ioengine=psync",
            "--time_based",
        ]);
        for (name, job) in [
            (
                "sequential",
                ["--rw=read", "--bs=1M", "--direct=0", "--invalidate=1"],
            ),
            (
                "random",
                ["--rw=randread", "--bs=4k", "--direct=1", "--stonewall"],
            ),
        ] {
            command
                .arg(format!("--name={name}"))
                .args(job)
                .arg(format!("--filename={names}"))
                .arg(format!("--runtime={runtime}"));
        }
        let takes = Duration::from_secs(u64::from(2 * JOB_S)) + AROUND;
        let ended = Child::spawn(command)?.wait(deadline.limit(takes)?)?;
        match fio::parse(&ended.stdout) {
            Ok(report) if ended.status.success() => Ok(report),
            Err(error @ FioError::Job { .. }) => Err(error.into()),
            Err(error) if ended.status.success() => Err(error.into()),
            _ => Err(ended.failure().into()),
        }
    }

    fn cpu(&self) -> Option<CpuTimes> {
        let text = std::fs::read_to_string(self.host.path("/proc/stat")).ok()?;
        CpuTimes::parse(&text)
    }
}

impl Measure for Storage {
    fn info(&self) -> MeasureInfo {
        MeasureInfo {
            id: STORAGE.to_owned(),
            exercises: vec![Group::Block],
            needs: vec!["fio".to_owned()],
            seconds_per_round: 2 * JOB_S + 1,
        }
    }

    fn prepare(&mut self, deadline: Deadline) -> Result<(), MeasureError> {
        self.version = None;
        if self.targets.is_empty() {
            return Err(MeasureError::Unavailable {
                what: "a data store",
                why: "no local disk holds the data".to_owned(),
                hint: "network file systems are not measured",
            });
        }
        self.targets
            .iter()
            .try_for_each(|path| Self::check_target(path))?;
        let limit = deadline.limit(Duration::from_secs(20))?;
        let version =
            self.host
                .run("fio", &["--version"], limit)
                .map_err(|error| MeasureError::Unavailable {
                    what: "fio",
                    why: error.to_string(),
                    hint: "install the package fio",
                })?;
        self.version = Some(version.trim().to_owned());
        Ok(())
    }

    fn round(&mut self, arm: Arm, pair: u32, deadline: Deadline) -> Result<Vec<Sample>, MeasureError> {
        let version = self.version.clone().ok_or(MeasureError::NotPrepared)?;
        let before = self.cpu();
        let report = self.run(deadline)?;
        let busy = self
            .cpu()
            .zip(before)
            .and_then(|(late, early)| late.since(&early));
        let mut context = BTreeMap::from([
            (context::OVER.to_owned(), format!("reads of {}", self.filenames())),
            ("tool".to_owned(), version),
            (context::MEASURED_S.to_owned(), JOB_S.to_string()),
            ("random_reads".to_owned(), report.random_reads.to_string()),
        ]);
        if let Some(busy) = busy {
            context.insert(context::CPU_BUSIEST.to_owned(), format!("{:.2}", busy.busiest));
        }
        let sample = |metric: &str, unit: &str, better, value| Sample {
            measure: STORAGE.to_owned(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            better,
            arm,
            pair,
            value,
            context: context.clone(),
        };
        Ok(vec![
            sample("read", "Mb/s", Better::Higher, report.sequential_mbps),
            sample("read-p95", "ms", Better::Lower, report.random_p95_ms),
        ])
    }

    fn cleanup(&mut self) -> Result<(), MeasureError> {
        self.version = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A host whose fio prints `out` for a run and logs its arguments.
    fn host(out: &str) -> (tempfile::TempDir, Host, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::File::create(&data)
            .unwrap()
            .set_len(LEAST_BYTES)
            .unwrap();
        std::fs::write(dir.path().join("out"), out).unwrap();
        let fio = dir.path().join("fio");
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> {dir}/log\ncase \"$*\" in --version) echo fio-3.39;; *) cat {dir}/out;; esac\n",
            dir = dir.path().display()
        );
        std::fs::write(&fio, script).unwrap();
        std::fs::set_permissions(&fio, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let host = Host::at(Path::new("/"), Some(Path::new(&path)));
        (dir, host, data)
    }

    fn minute() -> Deadline {
        Deadline::after(Duration::from_secs(60))
    }

    #[test]
    fn a_round_reads_only_and_gives_throughput_and_latency() {
        let (dir, host, data) = host(include_str!("../fixtures/fio-3.33-ok.json"));
        let mut storage = Storage::new(&host, vec![data]);
        storage.prepare(minute()).unwrap();
        let samples = storage.round(Arm::Ours, 3, minute()).unwrap();
        let seen: Vec<(&str, Better, u32)> = samples
            .iter()
            .map(|sample| (sample.metric.as_str(), sample.better, sample.pair))
            .collect();
        assert_eq!(
            seen,
            [("read", Better::Higher, 3), ("read-p95", Better::Lower, 3)]
        );
        assert_eq!(samples[0].context["tool"], "fio-3.39");
        let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
        let run = log.lines().last().unwrap();
        assert!(run.contains("--readonly") && !run.contains("write"), "{run}");
    }

    #[test]
    fn what_cannot_be_read_is_refused_before_anything_runs() {
        let (dir, host, _) = host("");
        let small = dir.path().join("small");
        std::fs::write(&small, "x").unwrap();
        for (targets, expected) in [
            (vec![], "a data store is not available"),
            (vec![dir.path().join("none")], "No such file"),
            (
                vec![small],
                "expected a block device, or a file of 64 MiB or more",
            ),
            (vec![dir.path().to_owned()], "expected a block device"),
        ] {
            let error = Storage::new(&host, targets)
                .prepare(minute())
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(!dir.path().join("log").exists());
    }

    #[test]
    fn a_fio_that_prints_rubbish_gives_a_typed_error() {
        let (_dir, host, data) = host("segmentation violation");
        let mut storage = Storage::new(&host, vec![data]);
        storage.prepare(minute()).unwrap();
        let error = storage.round(Arm::AsFound, 0, minute()).unwrap_err();
        assert!(
            matches!(error, MeasureError::Fio(FioError::NotJson { .. })),
            "{error}"
        );
    }

    #[test]
    fn a_colon_in_a_name_does_not_end_it() {
        let storage = Storage::new(&Host::live(), vec!["/a:b".into(), "/c".into()]);
        assert_eq!(storage.filenames(), "/a\\:b:/c");
    }
}
