//! The files that are named on the command line, as texts.

use super::CheckArgs;
use crate::cmd::Failure;
use crate::cmd::profile::{bad, read};
use anyhow::{Context as _, anyhow};
use dtnforge_profiles::catalog::{Catalog, CatalogError};
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::lint::{Input, Source};
use std::path::{Path, PathBuf};

/// Everything to be looked at; the built-in catalog when nothing is named.
pub(super) fn input(args: &CheckArgs) -> Result<Input, Failure> {
    let mut input = Input::new(args.site.load()?);
    if let Some(path) = &args.host {
        let facts = Facts::read(&read::text(path)?);
        let facts = facts.with_context(|| path.display().to_string());
        input.host = Some(facts.map_err(Failure::BadInput)?);
    }
    input.profiles = profiles(args)?;
    let built_in = || Catalog::embedded().map_err(|problems| bad(CatalogError::Invalid(problems)));
    input.beneath = match (&args.catalog, &args.path) {
        (Some(_), _) => built_in()?,
        // A profile of a site's own may extend a base of ours.
        (None, Some(_)) => built_in()?.bases_only(),
        (None, None) => Catalog::default(),
    };
    for path in &args.sysctl {
        input.sysctl.extend(files(path, |name| name.contains(".conf"))?);
    }
    for path in &args.udev {
        input.udev.extend(files(path, |name| name.ends_with(".rules"))?);
    }
    for path in &args.script {
        input.scripts.push(source(path)?);
    }
    for path in &args.tuned {
        tuned(path, &mut input)?;
    }
    Ok(input)
}

fn profiles(args: &CheckArgs) -> Result<Vec<Source>, Failure> {
    let foreign = [&args.sysctl, &args.tuned, &args.udev, &args.script];
    match args.catalog.as_ref().or(args.path.as_ref()) {
        Some(path) => {
            let sources = entries(path, |name| name.ends_with(".toml"))?;
            if sources.is_empty() {
                return Err(bad(anyhow!("{} has no *.toml file", path.display())));
            }
            let texts = sources.into_iter().map(|path| {
                let text = read::text(&path)?;
                Ok(Source::new(path.display().to_string(), text))
            });
            texts.collect()
        }
        None if foreign.iter().any(|paths| !paths.is_empty()) => Ok(Vec::new()),
        None => Ok(Catalog::embedded_files()
            .map(|(name, text)| Source::new(name, text))
            .collect()),
    }
}

/// A file, or the files of a directory whose names are wanted, in the order of their names.
fn entries(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = || format!("cannot read {}", path.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path)
        .with_context(failed)
        .map_err(Failure::BadInput)?
    {
        let entry = entry.with_context(failed).map_err(Failure::BadInput)?.path();
        let name = entry.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| wanted(&name)) && entry.is_file() {
            found.push(entry);
        }
    }
    found.sort();
    Ok(found)
}

fn files(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Source>, Failure> {
    entries(path, wanted)?.iter().map(|path| source(path)).collect()
}

/// A file of a host. Bytes that are no UTF-8 are as often as not in a comment; in a value they are found by a lint.
fn source(path: &Path) -> Result<Source, Failure> {
    let bytes = read::bytes(path)?;
    if bytes.contains(&0) {
        return Err(bad(anyhow!("{} is no text: it has a byte 0", path.display())));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Source::new(path.display().to_string(), text))
}

/// A profile with its neighbours for `include=`, or a directory of profiles.
fn tuned(path: &Path, input: &mut Input) -> Result<(), Failure> {
    let conf = if path.is_dir() {
        path.join("tuned.conf")
    } else {
        path.to_owned()
    };
    if conf.is_file() {
        input.tuned.push(source(&conf)?);
        let neighbours = conf.parent().and_then(Path::parent);
        if let Some(neighbours) = neighbours.filter(|dir| dir.is_dir()) {
            let found = confs(neighbours)?.into_iter().filter(|other| *other != conf);
            let found: Result<Vec<Source>, Failure> = found.map(|path| source(&path)).collect();
            input.tuned_library.extend(found?);
        }
        return Ok(());
    }
    let main = path.join("tuned-main.conf");
    let mut found = confs(path)?;
    found.extend(confs(&path.join("profiles"))?);
    if found.is_empty() && !main.is_file() {
        return Err(bad(anyhow!(
            "{} is no tuned.conf, and there is none in it or below it",
            path.display()
        )));
    }
    found.extend(main.is_file().then_some(main));
    for path in found {
        input.tuned.push(source(&path)?);
    }
    Ok(())
}

/// The `tuned.conf` of each directory in `dir`.
fn confs(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let failed = || format!("cannot read {}", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)
        .with_context(failed)
        .map_err(Failure::BadInput)?
    {
        let conf = entry
            .with_context(failed)
            .map_err(Failure::BadInput)?
            .path()
            .join("tuned.conf");
        found.extend(conf.is_file().then_some(conf));
    }
    found.sort();
    Ok(found)
}
