use super::*;

struct Node {
    dir: tempfile::TempDir,
    host: Host,
}

impl Node {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("run")).unwrap();
        let host = Host::at(dir.path(), None);
        Self { dir, host }
    }

    /// All files and directories under `/run`, but the agent's own directory and records.
    fn run(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut todo = vec![self.dir.path().join("run")];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.dir.path().join("run")).unwrap();
                let name = name.to_str().unwrap().to_owned();
                if path.is_dir() {
                    if name != "dtnforge" {
                        found.insert(name, "<dir>".to_owned());
                    }
                    todo.push(path);
                } else if !name.starts_with("dtnforge/files-") {
                    found.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        found
    }
}

fn files(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

const BUFFERS: &str = "sysctl.d/90-dtnforge-tcp-buffers.conf";
const RULE: &str = "udev/rules.d/71-dtnforge.rules";
const TUNED: &str = "dtnforge/tuned/profiles/dtnforge-dtn-vm/tuned.conf";

#[test]
fn what_was_placed_is_taken_away_with_its_directories_and_nothing_else_is() {
    let node = Node::new();
    fs::create_dir_all(node.dir.path().join("run/udev/rules.d")).unwrap();
    fs::write(node.dir.path().join("run/udev/rules.d/10-other.rules"), "x").unwrap();
    let before = node.run();
    let wanted = files(&[(BUFFERS, "a=1\n"), (RULE, "rule\n"), (TUNED, "[main]\n")]);
    place(&node.host, Set::Active, &wanted).unwrap();
    assert_eq!(node.run()[BUFFERS], "a=1\n");
    let mode = fs::metadata(node.dir.path().join("run").join(TUNED)).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o644);
    assert_eq!(paths(&node.host, Set::Active).unwrap().len(), 3);
    assert_eq!(remove(&node.host, Set::Active), []);
    assert_eq!(node.run(), before);
    assert!(!exists(&node.host, Set::Active));
    assert_eq!(remove(&node.host, Set::Active), [], "a second time is no error");
}

#[test]
fn a_directory_that_others_use_by_now_stays() {
    let node = Node::new();
    place(&node.host, Set::Active, &files(&[(BUFFERS, "a=1\n")])).unwrap();
    fs::write(node.dir.path().join("run/sysctl.d/99-admin.conf"), "b=2\n").unwrap();
    assert_eq!(remove(&node.host, Set::Active), []);
    assert_eq!(
        node.run().into_keys().collect::<Vec<_>>(),
        ["sysctl.d", "sysctl.d/99-admin.conf"]
    );
}

#[test]
fn placing_again_leaves_exactly_the_new_files() {
    let node = Node::new();
    place(
        &node.host,
        Set::Trial,
        &files(&[(BUFFERS, "a=1\n"), (RULE, "rule\n")]),
    )
    .unwrap();
    place(&node.host, Set::Trial, &files(&[(BUFFERS, "a=2\n")])).unwrap();
    assert_eq!(node.run().get(BUFFERS).map(String::as_str), Some("a=2\n"));
    assert_eq!(node.run().get(RULE), None);
    remove(&node.host, Set::Trial);
    assert_eq!(node.run(), BTreeMap::new());
}

#[test]
fn a_trial_over_a_commit_is_taken_back_to_the_commit() {
    let node = Node::new();
    place(
        &node.host,
        Set::Active,
        &files(&[(BUFFERS, "old\n"), (RULE, "rule\n")]),
    )
    .unwrap();
    let committed = node.run();
    place(
        &node.host,
        Set::Trial,
        &files(&[(BUFFERS, "new\n"), (TUNED, "[main]\n")]),
    )
    .unwrap();
    assert_eq!(node.run()[BUFFERS], "new\n");
    assert_eq!(
        node.run().get(RULE),
        None,
        "a file of the commit that the plan has not"
    );
    assert_eq!(remove(&node.host, Set::Trial), []);
    assert_eq!(node.run(), committed);
}

#[test]
fn a_committed_trial_is_the_active_set() {
    let node = Node::new();
    place(
        &node.host,
        Set::Active,
        &files(&[(BUFFERS, "old\n"), (RULE, "rule\n")]),
    )
    .unwrap();
    place(
        &node.host,
        Set::Trial,
        &files(&[(BUFFERS, "new\n"), (TUNED, "[main]\n")]),
    )
    .unwrap();
    adopt(&node.host).unwrap();
    assert!(!exists(&node.host, Set::Trial));
    assert_eq!(paths(&node.host, Set::Active).unwrap(), [TUNED, BUFFERS]);
    assert_eq!(remove(&node.host, Set::Active), []);
    assert_eq!(node.run(), BTreeMap::new());
}

#[test]
fn a_file_that_was_there_before_gets_its_text_back() {
    let node = Node::new();
    fs::create_dir_all(node.dir.path().join("run/sysctl.d")).unwrap();
    fs::write(node.dir.path().join("run").join(BUFFERS), "admin\n").unwrap();
    place(&node.host, Set::Trial, &files(&[(BUFFERS, "ours\n")])).unwrap();
    remove(&node.host, Set::Trial);
    assert_eq!(node.run()[BUFFERS], "admin\n");
}

#[test]
fn a_path_that_is_not_ours_is_refused_before_anything_is_written() {
    let node = Node::new();
    for path in [
        "sysctl.d/../../etc/dtnforge",
        "/etc/dtnforge.conf",
        "systemd/system/dtnforge.service",
        "sysctl.d/50-other.conf",
        "sysctl.d",
        "dtnforge/files-trial.json",
        "dtnforge/",
    ] {
        let wanted = files(&[(BUFFERS, "a=1\n"), (path, "x")]);
        let error = place(&node.host, Set::Trial, &wanted).unwrap_err();
        assert!(matches!(error, FilesError::ForeignPath { .. }), "{path}: {error}");
    }
    assert_eq!(node.run(), BTreeMap::new());
}

#[test]
fn a_damaged_record_is_reported_and_not_laid_over() {
    let node = Node::new();
    place(&node.host, Set::Trial, &files(&[(BUFFERS, "a=1\n")])).unwrap();
    let record = node.dir.path().join("run/dtnforge/files-trial.json");
    let text = fs::read_to_string(&record).unwrap();
    for damage in [
        text[..20].to_owned(),
        text.replacen("\"schema\": 1", "\"schema\": 9", 1),
    ] {
        fs::write(&record, damage).unwrap();
        let error = place(&node.host, Set::Trial, &[]).unwrap_err().to_string();
        assert!(error.starts_with("/run/dtnforge/files-trial.json: "), "{error}");
        assert_eq!(
            remove(&node.host, Set::Trial)[0].path,
            "dtnforge/files-trial.json"
        );
    }
}

#[test]
fn a_record_that_names_other_paths_is_not_followed() {
    let node = Node::new();
    fs::create_dir_all(node.dir.path().join("run/dtnforge")).unwrap();
    fs::write(node.dir.path().join("victim"), "x").unwrap();
    let record = r#"{"schema": 1, "before": {"../victim": null}, "directories": []}"#;
    fs::write(node.dir.path().join("run/dtnforge/files-trial.json"), record).unwrap();
    assert_eq!(remove(&node.host, Set::Trial).len(), 1);
    assert!(node.dir.path().join("victim").exists());
}
