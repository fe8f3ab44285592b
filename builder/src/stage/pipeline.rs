//! Runs stages: looks a key up, else makes the output beside and renames it, and says so.

use super::made::{DIGESTS, LOG, take_digests};
use super::outputs::{Artefact, Outputs};
use super::report::{Did, StageReport, Why};
use super::space::Space;
use super::{Failed, Inputs, Made, StageError, Work};
use crate::cache::Cache;
use crate::fsx::{self, FileError};
use crate::interrupt;
use dtnforge_profiles::digest::Digest;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many outputs of each stage stay in the cache.
const KEPT: usize = 5;

/// The stages of one build of one spec.
pub struct Pipeline<'a> {
    cache: &'a Cache,
    memory: PathBuf,
    tell: Box<dyn Fn(&str) + 'a>,
    reports: Vec<StageReport>,
    space: Option<Space>,
}

impl<'a> Pipeline<'a> {
    /// A build of the spec at `spec`; progress is told through `tell`, a line at a time.
    pub fn new(cache: &'a Cache, spec: &Path, tell: impl Fn(&str) + 'a) -> Self {
        let name = Digest::of(spec.as_os_str().as_encoded_bytes());
        Self {
            cache,
            memory: cache.path("specs").join(name.short()),
            tell: Box::new(tell),
            reports: Vec::new(),
            space: None,
        }
    }

    /// Looks at the free space before the first stage that runs.
    #[must_use]
    pub fn with_space(mut self, space: Space) -> Self {
        self.space = Some(space);
        self
    }

    /// Says why a stage runs, and looks at the free space before the first one.
    fn begin(&mut self, stage: &'static str, why: &Why) -> Result<(), Failed> {
        (self.tell)(&format!("{stage:<9} ...              {why}"));
        let checked = self.space.take().map_or(Ok(()), |space| space.check(stage));
        checked.map_err(|error| self.failed(stage, error.into()))
    }

    /// What was done so far.
    pub fn reports(&self) -> &[StageReport] {
        &self.reports
    }

    /// The output of `stage` for `inputs`: from the cache, or made now by `make`.
    ///
    /// # Errors
    /// `make` fails. What it made by then is removed; earlier stages stay cached.
    pub fn stage(
        &mut self,
        stage: &'static str,
        inputs: &Inputs,
        make: impl FnOnce(&Work<'_>) -> Result<(), StageError>,
    ) -> Result<Made, Failed> {
        let started = Instant::now();
        let key = inputs.key();
        let place = self.cache.path("stages").join(stage).join(key.as_str());
        let found = place.join(DIGESTS).is_file();
        let why = (!found).then(|| self.why(stage, inputs));
        if let Some(why) = &why {
            self.begin(stage, why)?;
            self.make(stage, &place, make)
                .map_err(|source| self.failed(stage, source))?;
        }
        self.finish(stage, inputs, why, started)
            .map_err(|source| self.failed(stage, source))?;
        touch(&place);
        Ok(Made {
            stage,
            key,
            directory: place,
        })
    }

    /// The file `name` in the output directory for `inputs`: the one that is there, or made now by `make`.
    ///
    /// # Errors
    /// As [`Pipeline::stage`].
    pub fn artefact(
        &mut self,
        stage: &'static str,
        inputs: &Inputs,
        outputs: &mut Outputs,
        name: &str,
        make: impl FnOnce(&Path, &Work<'_>) -> Result<(), StageError>,
    ) -> Result<(Artefact, Digest), Failed> {
        let started = Instant::now();
        let key = inputs.key();
        let (artefact, why) = match outputs.unchanged(name, &key) {
            Some(artefact) => (artefact, None),
            None => {
                let why = self.why(stage, inputs);
                self.begin(stage, &why)?;
                let made = self.make_artefact(stage, &key, outputs, name, make);
                (made.map_err(|source| self.failed(stage, source))?, Some(why))
            }
        };
        self.finish(stage, inputs, why, started)
            .map_err(|source| self.failed(stage, source))?;
        Ok((artefact, key))
    }

    fn make(
        &self,
        stage: &str,
        place: &Path,
        make: impl FnOnce(&Work<'_>) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        interrupt::check()?;
        let scratch = self.cache.scratch(stage)?;
        let log = scratch.path().join(LOG);
        make(&Work {
            directory: scratch.path(),
            log,
        })?;
        interrupt::check()?;
        take_digests(scratch.path())?;
        Ok(scratch.keep_as(place)?)
    }

    fn make_artefact(
        &self,
        stage: &str,
        key: &Digest,
        outputs: &mut Outputs,
        name: &str,
        make: impl FnOnce(&Path, &Work<'_>) -> Result<(), StageError>,
    ) -> Result<Artefact, StageError> {
        interrupt::check()?;
        let scratch = self.cache.scratch(stage)?;
        let target = outputs.directory().join(name);
        let beside = Beside::of(&target)?;
        make(
            &beside.0,
            &Work {
                directory: scratch.path(),
                log: scratch.path().join(LOG),
            },
        )?;
        interrupt::check()?;
        fsx::rename(&beside.0, &target)?;
        Ok(outputs.record(name, key)?)
    }

    fn why(&self, stage: &str, inputs: &Inputs) -> Why {
        let before = fsx::read(&self.memory_of(stage))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Inputs>(&bytes).ok());
        match before.map(|before| inputs.changed_since(&before)) {
            None => Why::FirstBuild,
            Some(names) if names.is_empty() => Why::OutputGone,
            Some(names) => Why::Changed(names),
        }
    }

    fn memory_of(&self, stage: &str) -> PathBuf {
        self.memory.join(format!("{stage}.json"))
    }

    fn finish(
        &mut self,
        stage: &'static str,
        inputs: &Inputs,
        why: Option<Why>,
        started: Instant,
    ) -> Result<(), StageError> {
        let text = serde_json::to_vec_pretty(inputs).map_err(|error| StageError::Wrong(error.to_string()))?;
        if fsx::read(&self.memory_of(stage)).ok().as_ref() != Some(&text) {
            fsx::write_atomically(&self.memory_of(stage), &text)?;
        }
        let did = if why.is_some() { Did::Ran } else { Did::Cached };
        let report = StageReport {
            stage,
            did,
            why,
            seconds: started.elapsed().as_secs_f64(),
        };
        (self.tell)(&report.to_string());
        self.reports.push(report);
        Ok(())
    }

    fn failed(&self, stage: &'static str, source: StageError) -> Failed {
        Failed {
            stage,
            finished: self.reports.iter().map(|report| report.stage).collect(),
            source,
        }
    }

    /// Removes all but the newest outputs of each stage.
    ///
    /// # Errors
    /// The cache cannot be read or written.
    pub fn prune(&self) -> Result<(), FileError> {
        for stage in fsx::list(&self.cache.path("stages"))? {
            let mut outputs = fsx::list(&stage)?;
            outputs.sort_by_key(|path| {
                std::cmp::Reverse(std::fs::metadata(path).and_then(|data| data.modified()).ok())
            });
            for old in outputs.iter().skip(KEPT) {
                fsx::remove_tree(old)?;
            }
        }
        Ok(())
    }
}

/// A file that is being made in the output directory under a hidden name; removed unless it got its own.
struct Beside(PathBuf);

impl Beside {
    fn of(target: &Path) -> Result<Self, FileError> {
        let path = fsx::partial(target);
        fsx::remove_tree(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Err(error) = fsx::remove_tree(&self.0) {
            tracing::warn!("left behind: {error}");
        }
    }
}

/// Notes that an output was used, for [`Pipeline::prune`]. Failing only makes it look older.
fn touch(place: &Path) {
    let now = std::time::SystemTime::now();
    if let Err(error) = std::fs::File::open(place).and_then(|file| file.set_modified(now)) {
        tracing::debug!("cannot touch {}: {error}", place.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn write(work: &Work<'_>, text: &str) -> Result<(), StageError> {
        Ok(fsx::write(&work.path("out"), text.as_bytes())?)
    }

    #[test]
    fn a_stage_runs_once_for_the_same_inputs_and_says_why_it_runs_again() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        let told = RefCell::new(Vec::new());
        let build = |value: &str| {
            let mut pipeline = Pipeline::new(&cache, Path::new("dtn.toml"), |line| {
                told.borrow_mut().push(line.to_owned())
            });
            let inputs = Inputs::of_code(1).with("value", value);
            let made = pipeline
                .stage("tree", &inputs, |work| write(work, value))
                .unwrap();
            assert_eq!(fsx::read_text(&made.path("out")).unwrap(), value);
            assert_eq!(made.file("out").unwrap().sha256, Digest::of(value.as_bytes()));
            pipeline.reports()[0].clone()
        };
        assert_eq!(build("a").why, Some(Why::FirstBuild));
        assert_eq!(build("a").did, Did::Cached);
        assert_eq!(build("b").why, Some(Why::Changed(vec!["value".into()])));
        assert_eq!(build("a").did, Did::Cached);
        assert!(told.borrow()[0].contains("first build of this spec"));
    }

    #[test]
    fn a_stage_that_fails_leaves_nothing_and_names_what_is_cached() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        let mut pipeline = Pipeline::new(&cache, Path::new("dtn.toml"), |_| {});
        pipeline
            .stage("packages", &Inputs::of_code(1), |work| write(work, "x"))
            .unwrap();
        let failed = pipeline.stage("tree", &Inputs::of_code(1), |work| {
            write(work, "half")?;
            Err(StageError::Wrong("no".into()))
        });
        assert_eq!(
            failed.unwrap_err().to_string(),
            "stage `tree` failed; finished and cached: packages"
        );
        assert!(!cache.path("stages/tree").exists());
        assert!(fsx::list(&cache.path("tmp")).unwrap().is_empty());
    }

    #[test]
    fn an_artefact_never_has_its_name_before_it_is_whole() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&home.path().join("cache"))).unwrap();
        let mut outputs = Outputs::open(&cache, &home.path().join("out")).unwrap();
        let mut pipeline = Pipeline::new(&cache, Path::new("dtn.toml"), |_| {});
        let failed = pipeline.artefact("disk", &Inputs::of_code(1), &mut outputs, "dtn.raw", |path, _| {
            fsx::write(path, b"half")?;
            Err(StageError::Wrong("disk full".into()))
        });
        assert!(failed.is_err());
        assert!(fsx::list(outputs.directory()).unwrap().is_empty());
    }
}
