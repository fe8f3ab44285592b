//! The page of a report in a real browser: charts drawn, tables sorted, contrast kept in light and dark, and nothing said
//! on the console. Needs Debian's `chromium` and `DTNFORGE_BROWSER=1`; says that it is skipped without.

#![expect(clippy::unwrap_used, reason = "a browser that does not start fails the test")]

use dtnforge_profiles::report::{Report, html};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A report with everything: gains, harm, noise, held groups, a check that failed.
const REPORT: &str = include_str!("browser/report.json");
const CHECK: &str = include_str!("browser/check.js");

fn browser() -> Option<&'static str> {
    if std::env::var("DTNFORGE_BROWSER").as_deref() != Ok("1") {
        println!("skipped: needs DTNFORGE_BROWSER=1");
        return None;
    }
    Some("chromium")
}

fn page() -> String {
    html::page(&serde_json::from_str::<Report>(REPORT).unwrap())
}

/// Runs the browser on a file; returns what it printed and what it logged.
fn run(browser: &str, file: &Path, scheme: &str, args: &[&str]) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
        ])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .args(args)
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// What the page looks like to `check.js`, and the console's lines.
fn seen(scheme: &str, size: &str) -> Option<(Value, Vec<String>)> {
    let browser = browser()?;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    let with_check = page().replace("</body>", &format!("<script>\n{CHECK}</script>\n</body>"));
    std::fs::write(&file, with_check).unwrap();
    let (dom, log) = run(
        browser,
        &file,
        scheme,
        &["--dump-dom", &format!("--window-size={size}")],
    );
    let (_, rest) = dom.split_once("<pre id=\"seen\">").unwrap();
    let (json, _) = rest.split_once("</pre>").unwrap();
    let json = json
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let console = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned);
    Some((serde_json::from_str(&json).unwrap(), console.collect()))
}

fn check(scheme: &str, dark: bool, size: &str) {
    let Some((seen, console)) = seen(scheme, size) else {
        return;
    };
    println!("{seen}");
    assert_eq!(console, [""; 0]);
    assert_eq!(seen["said"], serde_json::json!([]), "{seen}");
    assert_eq!(seen["dark"], dark, "{seen}");
    // Two for each of the four metrics.
    assert_eq!(seen["charts"], 8, "{seen}");
    assert_eq!(
        (&seen["sortsUp"], &seen["sortsDown"]),
        (&true.into(), &true.into()),
        "{seen}"
    );
    assert!(seen["leastContrast"].as_f64().unwrap() >= 4.5, "{seen}");
    assert_eq!(
        seen["wider"], false,
        "the page itself does not scroll sideways: {seen}"
    );
}

#[test]
fn in_light_the_charts_are_drawn_tables_sort_and_text_can_be_read() {
    check("1", false, "1280,900");
}

#[test]
fn in_dark_too() {
    check("0", true, "1280,900");
}

#[test]
fn on_a_narrow_screen_too() {
    check("1", false, "500,900");
}
