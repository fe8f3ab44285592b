//! Lays a tree of the project over another tree. A file that ends in `.hbs` is a Handlebars template and loses that
//! end; links stay links; everything belongs to root.

use crate::fsx::{self, FileError};
use handlebars::Handlebars;
use serde::Serialize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = "hbs";

/// What a template can use.
#[derive(Debug, Clone, Serialize)]
pub struct Variables {
    /// Host name.
    pub hostname: String,
    /// Debian suite.
    pub suite: String,
}

/// Why an overlay could not be laid.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// A template is wrong, or uses what it is not given.
    #[error("{}: the template cannot be filled in", path.display())]
    Template {
        /// The template.
        path: PathBuf,
        /// Reason.
        source: Box<handlebars::RenderError>,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Lays `overlay` over `tree`.
///
/// # Errors
/// A file cannot be copied, a template cannot be filled in.
pub fn lay(overlay: &Path, tree: &Path, variables: &Variables) -> Result<(), OverlayError> {
    for relative in fsx::walk(overlay)? {
        let from = overlay.join(&relative);
        let data =
            std::fs::symlink_metadata(&from).map_err(|source| FileError::new("look at", &from, source))?;
        let to = tree.join(&relative);
        if data.is_dir() {
            fsx::create_dir_all(&to)?;
        } else if data.is_symlink() {
            link(&from, &to)?;
        } else {
            let executable = data.permissions().mode() & 0o111 != 0;
            file(&from, &to, executable, variables)?;
        }
    }
    Ok(())
}

fn link(from: &Path, to: &Path) -> Result<(), FileError> {
    let target = std::fs::read_link(from).map_err(|source| FileError::new("read link", from, source))?;
    fsx::remove_tree(to)?;
    std::os::unix::fs::symlink(&target, to).map_err(|source| FileError::new("link", to, source))
}

fn file(from: &Path, to: &Path, executable: bool, variables: &Variables) -> Result<(), OverlayError> {
    let is_template = from.extension().is_some_and(|end| end == TEMPLATE);
    let (to, content) = if is_template {
        (to.with_extension(""), fill_in(from, variables)?.into_bytes())
    } else {
        (to.to_owned(), fsx::read(from)?)
    };
    fsx::remove_tree(&to)?;
    fsx::write(&to, &content)?;
    Ok(set_mode(&to, if executable { 0o755 } else { 0o644 })?)
}

/// Sets the mode of a file.
///
/// # Errors
/// As the system says.
pub fn set_mode(path: &Path, mode: u32) -> Result<(), FileError> {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).map_err(|source| FileError::new("set the mode of", path, source))
}

fn fill_in(path: &Path, variables: &Variables) -> Result<String, OverlayError> {
    let mut engine = Handlebars::new();
    // A name that is not there is an error, and values are text, not HTML.
    engine.set_strict_mode(true);
    engine.register_escape_fn(handlebars::no_escape);
    engine
        .render_template(&fsx::read_text(path)?, variables)
        .map_err(|source| OverlayError::Template {
            path: path.to_owned(),
            source: Box::new(source),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        Variables {
            hostname: "dtn7".into(),
            suite: "trixie".into(),
        }
    }

    #[test]
    fn templates_links_and_modes_are_laid() {
        let home = tempfile::tempdir().unwrap();
        let (overlay, tree) = (home.path().join("overlay"), home.path().join("tree"));
        fsx::write(&overlay.join("etc/hostname.hbs"), b"{{hostname}}\n").unwrap();
        fsx::write(&overlay.join("usr/bin/tool"), b"#!x").unwrap();
        set_mode(&overlay.join("usr/bin/tool"), 0o700).unwrap();
        std::os::unix::fs::symlink("/run/x", overlay.join("etc/link")).unwrap();
        fsx::write(&tree.join("etc/link"), b"a file of a package").unwrap();
        lay(&overlay, &tree, &variables()).unwrap();
        assert_eq!(fsx::read_text(&tree.join("etc/hostname")).unwrap(), "dtn7\n");
        assert_eq!(
            std::fs::read_link(tree.join("etc/link")).unwrap(),
            Path::new("/run/x")
        );
        let mode = std::fs::metadata(tree.join("usr/bin/tool"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn an_unknown_variable_names_the_template() {
        let home = tempfile::tempdir().unwrap();
        let overlay = home.path().join("overlay");
        fsx::write(&overlay.join("etc/motd.hbs"), b"{{hostnam}}").unwrap();
        let error = lay(&overlay, &home.path().join("tree"), &variables()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("etc/motd.hbs: the template cannot be filled in"),
            "{error}"
        );
    }
}
