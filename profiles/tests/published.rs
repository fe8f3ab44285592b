//! Every value of ours that differs from a published one is explained, and no explanation is left over.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::compare::{Cell, table};
use dtnforge_profiles::published::Library;
use std::collections::{BTreeMap, BTreeSet};

fn said(cell: &Cell<'_>) -> String {
    let (role, link) = (cell.hosts.role.unwrap(), cell.hosts.link.unwrap());
    let ours = cell
        .ours
        .as_ref()
        .map_or("as found".to_owned(), ToString::to_string);
    format!(
        "{} against {}, role {role}, {link}: {} is {ours}, published {}",
        cell.profile.name, cell.published.name, cell.knob, cell.theirs
    )
}

#[test]
fn every_difference_is_explained_and_every_explanation_explains_one() {
    let (catalog, library) = (Catalog::embedded().unwrap(), Library::embedded().unwrap());
    let cells = table(&catalog, &library).unwrap();
    assert!(cells.len() > 1000, "only {} values compared", cells.len());
    let unexplained: Vec<String> = cells
        .iter()
        .filter(|cell| !cell.same() && cell.explained.is_none())
        .map(said)
        .collect();
    assert!(
        unexplained.is_empty(),
        "{} without a reason in published/differences.toml:\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );

    let used: BTreeSet<usize> = cells.iter().filter_map(|cell| cell.explained).collect();
    let idle: Vec<_> = library
        .differences
        .0
        .iter()
        .enumerate()
        .filter(|(number, _)| !used.contains(number))
        .collect();
    assert!(idle.is_empty(), "nothing differs any more: {idle:#?}");
}

#[test]
fn every_publication_is_for_hosts_that_some_profile_is_for() {
    let (catalog, library) = (Catalog::embedded().unwrap(), Library::embedded().unwrap());
    let cells = table(&catalog, &library).unwrap();
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &cells {
        *compared.entry(&cell.published.name).or_default() += 1;
    }
    for published in &library.published {
        assert!(
            compared.contains_key(published.name.as_str()),
            "{} is compared with nothing",
            published.name
        );
    }
}

#[test]
fn no_publication_has_the_name_of_a_profile() {
    let (catalog, library) = (Catalog::embedded().unwrap(), Library::embedded().unwrap());
    for published in library.all() {
        assert!(
            catalog.get(&published.name).is_none(),
            "{} is both",
            published.name
        );
    }
}
