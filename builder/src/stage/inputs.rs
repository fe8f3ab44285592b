//! What a stage depends on: named values, in order of their names. Equal inputs have equal keys.

use crate::digest;
use crate::fsx::{self, FileError};
use dtnforge_profiles::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The inputs of one stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inputs(BTreeMap<String, String>);

impl Inputs {
    /// Inputs of a stage whose code has this version. It changes when the same inputs would give another output.
    pub fn of_code(version: u32) -> Self {
        Self::default().with("code", version)
    }

    /// Adds a named value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.0.insert(name.to_owned(), value.to_string());
        self
    }

    /// Adds the content of one file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn with_file(self, name: &str, path: &Path) -> Result<Self, FileError> {
        Ok(self.with(name, digest::of_entry(path)?))
    }

    /// Adds every file of a tree under its own name, so that a report can say which one changed.
    ///
    /// # Errors
    /// The tree cannot be read.
    pub fn with_tree(mut self, name: &str, root: &Path) -> Result<Self, FileError> {
        for path in fsx::walk(root)? {
            let entry = digest::of_entry(&root.join(&path))?;
            self.0.insert(format!("{name}/{}", path.display()), entry);
        }
        Ok(self)
    }

    /// The key: the digest of all names and values.
    pub fn key(&self) -> Digest {
        let mut text = String::new();
        for (name, value) in &self.0 {
            // Lengths first: no two sets of inputs have the same text.
            text.push_str(&format!("{} {} {name} {value}\n", name.len(), value.len()));
        }
        Digest::of(text.as_bytes())
    }

    /// The names whose values differ from `before`, sorted.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let mut names: Vec<&String> = self.0.keys().chain(before.0.keys()).collect();
        names.sort();
        names.dedup();
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != before.0.get(*name))
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_does_not_depend_on_the_order_of_adding() {
        let one = Inputs::of_code(1).with("a", "x").with("b", "y");
        let other = Inputs::of_code(1).with("b", "y").with("a", "x");
        assert_eq!(one.key(), other.key());
    }

    #[test]
    fn values_do_not_run_into_each_other() {
        let one = Inputs::of_code(1).with("a", "x\n1 1 b y");
        let other = Inputs::of_code(1).with("a", "x").with("b", "y");
        assert_ne!(one.key(), other.key());
    }

    #[test]
    fn changed_added_and_removed_inputs_are_named() {
        let before = Inputs::of_code(1).with("a", "x").with("gone", "1");
        let after = Inputs::of_code(1).with("a", "y").with("new", "1");
        assert_eq!(after.changed_since(&before), ["a", "gone", "new"]);
        assert!(after.changed_since(&after).is_empty());
    }

    #[test]
    fn a_tree_names_the_file_that_changed() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("etc")).unwrap();
        std::fs::write(home.path().join("etc/fstab"), "a").unwrap();
        let before = Inputs::default().with_tree("common", home.path()).unwrap();
        std::fs::write(home.path().join("etc/fstab"), "b").unwrap();
        let after = Inputs::default().with_tree("common", home.path()).unwrap();
        assert_eq!(after.changed_since(&before), ["common/etc/fstab"]);
    }
}
