//! Bad days of a build, with the real program: wrong input, no network, Ctrl-C. None of them may leave half a result.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A project with one spec, a cache and an output directory.
struct Project {
    home: tempfile::TempDir,
}

impl Project {
    fn new(spec: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        for overlay in ["common", "agent", "initrd"] {
            std::fs::create_dir_all(home.path().join("overlays").join(overlay)).unwrap();
        }
        std::fs::write(
            home.path().join("x.toml"),
            format!("schema = 1\nname = \"x\"\n{spec}"),
        )
        .unwrap();
        Self { home }
    }

    fn path(&self, part: &str) -> PathBuf {
        self.home.path().join(part)
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtnforge"));
        command
            .arg(verb)
            .arg(self.path("x.toml"))
            .arg("--cache")
            .arg(self.path("cache"))
            .stdin(Stdio::null())
            // The archives of these tests are on this machine: no proxy may come between.
            .env("no_proxy", "127.0.0.1");
        command
    }

    fn build(&self, agent: &Path) -> Output {
        self.command("build")
            .arg("--out")
            .arg(self.path("out"))
            .arg("--agent")
            .arg(agent)
            .output()
            .unwrap()
    }

    /// Nothing was written: no lock file, no output, no cache.
    fn assert_untouched(&self) {
        for part in ["x.lock", "out", "cache"] {
            assert!(!self.path(part).exists(), "{part} was written");
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_wrong_spec_ends_with_2_and_nothing_written() {
    let project = Project::new("[image]\nesp_mib = 1\n");
    let output = project.build(Path::new("/bin/true"));
    assert_eq!(output.status.code(), Some(2));
    let expected = "x.toml:4: key `image.esp_mib`: 1 is out of range, expected 264 to 4096 MiB\n";
    assert!(said(&output).ends_with(expected), "{}", said(&output));
    project.assert_untouched();
}

#[test]
fn an_unknown_profile_ends_with_2_and_nothing_written() {
    let project = Project::new("[profiles]\ninclude = [\"dtn-1t\"]\n");
    let output = project.build(Path::new("/bin/true"));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("x.toml:4: key `profiles.include`: there is no profile \"dtn-1t\""),
        "{}",
        said(&output)
    );
    project.assert_untouched();
}

#[test]
fn an_agent_that_needs_a_loader_ends_with_2_and_nothing_written() {
    let project = Project::new("");
    let output = project.build(Path::new("/bin/true"));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("/bin/true: not a static program, it asks for a loader\nhint: "),
        "{}",
        said(&output)
    );
    project.assert_untouched();
}

#[test]
fn without_a_network_the_stage_and_the_last_lines_are_told_and_no_lock_is_left() {
    // A port that nobody listens on.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let project = Project::new(&format!("[base]\nmirror = \"http://127.0.0.1:{port}/debian\"\n"));
    let output = project.command("lock").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    assert!(
        said.contains("stage `resolve`: cannot fetch the package lists: `apt-get` failed"),
        "{said}"
    );
    assert!(
        said.contains("\n  | "),
        "the last lines of apt are missing: {said}"
    );
    assert!(said.contains("hint: is the network there"), "{said}");
    assert!(!project.path("x.lock").exists());
}

#[test]
fn ctrl_c_ends_the_running_program_and_leaves_nothing_half_made() {
    // An archive that takes calls and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let project = Project::new(&format!("[base]\nmirror = \"http://127.0.0.1:{port}/debian\"\n"));
    let mut builder = project.command("lock").stderr(Stdio::piped()).spawn().unwrap();
    let (_call, _) = silent.accept().unwrap();
    let apt = children(builder.id());
    assert!(!apt.is_empty(), "apt runs");

    let asked = Instant::now();
    kill(
        Pid::from_raw(i32::try_from(builder.id()).unwrap()),
        Signal::SIGINT,
    )
    .unwrap();
    let status = builder.wait().unwrap();
    let mut said = String::new();
    builder.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "took {:?}",
        asked.elapsed()
    );
    assert_eq!(
        said,
        "error: interrupted\nhint: run it again; what was finished is kept in the cache\n"
    );
    assert!(!project.path("x.lock").exists());
    assert_eq!(std::fs::read_dir(project.path("cache/tmp")).unwrap().count(), 0);
    for child in apt {
        assert!(
            !Path::new(&format!("/proc/{child}")).exists(),
            "process {child} outlived its parent"
        );
    }
}

/// The processes whose parent is `parent`.
fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = std::fs::read_to_string(path).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}
