//! Where packages come from. No archive is named in this project: the spec's `mirror`, else what the build host's
//! own apt uses with the suite exchanged, else what mmdebstrap would take.

use std::fmt::Write as _;

/// Parts of the archive that an image needs: firmware lives in its own.
pub const COMPONENTS: [&str; 2] = ["main", "non-free-firmware"];
/// The keys of Debian's archive, where Debian hosts keep them.
pub const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// One archive and suite, as a line of `sources.list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Options in brackets, such as `signed-by=/path`; sorted as written.
    pub options: Vec<String>,
    /// Address of the archive.
    pub uri: String,
    /// Suite, such as `trixie-security`.
    pub suite: String,
}

/// The text of `sources.list` for `sources`.
pub fn to_list(sources: &[Source]) -> String {
    let mut text = String::new();
    for source in sources {
        let options = if source.options.is_empty() {
            String::new()
        } else {
            format!("[{}] ", source.options.join(" "))
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "deb {options}{} {} {}",
            source.uri,
            source.suite,
            COMPONENTS.join(" ")
        );
    }
    text
}

/// The archive that a spec names.
pub fn of_mirror(mirror: &str, suite: &str, keyring: Option<&str>) -> Vec<Source> {
    let options = keyring
        .map(|path| format!("signed-by={path}"))
        .into_iter()
        .collect();
    vec![Source {
        options,
        uri: mirror.to_owned(),
        suite: suite.to_owned(),
    }]
}

/// What a host with codename `host` uses, translated to `suite`. `files` are the texts of its source files, with
/// their names. Foreign archives and backports are left out: their suites are not of the host's release.
pub fn translate(files: &[(String, String)], host: &str, suite: &str) -> Vec<Source> {
    let mut found: Vec<Source> = Vec::new();
    for (name, text) in files {
        let written = if name.ends_with(".sources") {
            deb822(text)
        } else {
            one_line(text)
        };
        for source in written {
            let Some(suite) = exchange(&source.suite, host, suite) else {
                continue;
            };
            let source = Source { suite, ..source };
            if !found.contains(&source) {
                found.push(source);
            }
        }
    }
    found
}

/// `bookworm-security` of a bookworm host is `trixie-security` for trixie; a suite of another kind is nothing.
fn exchange(written: &str, host: &str, suite: &str) -> Option<String> {
    let pocket = written.strip_prefix(host)?;
    matches!(pocket, "" | "-updates" | "-security").then(|| format!("{suite}{pocket}"))
}

fn one_line(text: &str) -> Vec<Source> {
    text.lines().filter_map(one_line_entry).collect()
}

fn one_line_entry(line: &str) -> Option<Source> {
    let line = line.split('#').next().unwrap_or("").trim();
    let rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    Some(Source {
        options: kept_options(options.split_whitespace().map(str::to_owned)),
        uri: uri.to_owned(),
        suite: suite.to_owned(),
    })
}

/// Whom to trust is the host's business; its architectures and languages are not the image's.
fn kept_options(options: impl Iterator<Item = String>) -> Vec<String> {
    options
        .filter(|option| option.starts_with("signed-by=") || option.starts_with("trusted="))
        .collect()
}

fn deb822(text: &str) -> Vec<Source> {
    super::stanza::parse(text)
        .iter()
        .flat_map(deb822_stanza)
        .collect()
}

fn deb822_stanza(stanza: &super::stanza::Stanza) -> Vec<Source> {
    let words = |key: &str| -> Vec<String> {
        stanza
            .get(key)
            .unwrap_or("")
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    let enabled = !matches!(stanza.get("Enabled").map(str::trim), Some("no" | "false"));
    if !enabled || !words("Types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    let signed_by = words("Signed-By")
        .first()
        .filter(|path| path.starts_with('/'))
        .map(|path| format!("signed-by={path}"));
    let trusted = words("Trusted").first().map(|value| format!("trusted={value}"));
    let options = kept_options(signed_by.into_iter().chain(trusted));
    let mut found = Vec::new();
    for uri in words("URIs") {
        for suite in words("Suites") {
            found.push(Source {
                options: options.clone(),
                uri: uri.clone(),
                suite,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(name: &str, text: &str) -> String {
        to_list(&translate(&[(name.into(), text.into())], "bookworm", "trixie"))
    }

    #[test]
    fn deb822_keeps_the_archive_and_its_keys_and_exchanges_the_suite() {
        let text = "# a comment\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n\
                    Components: main\nSigned-By: /usr/share/keyrings/k.gpg\n\nTypes: deb deb-src\n\
                    URIs: http://mirror.example/security\nSuites: bookworm-security\nComponents: main\n";
        assert_eq!(
            translated("debian.sources", text),
            "deb [signed-by=/usr/share/keyrings/k.gpg] http://mirror.example/debian trixie main non-free-firmware\n\
             deb [signed-by=/usr/share/keyrings/k.gpg] http://mirror.example/debian trixie-updates main non-free-firmware\n\
             deb http://mirror.example/security trixie-security main non-free-firmware\n"
        );
    }

    #[test]
    fn the_one_line_form_is_read_with_options_and_comments() {
        let text = "# deb http://old.example/debian bookworm main\n\
                    deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main # ours\n\
                    deb-src http://mirror.example/debian bookworm main\n";
        assert_eq!(
            translated("sources.list", text),
            "deb [signed-by=/k.gpg] http://mirror.example/debian trixie main non-free-firmware\n"
        );
    }

    #[test]
    fn foreign_archives_backports_and_disabled_entries_are_left_out() {
        let lines = "deb http://vendor.example/apt vendor-bookworm main\ndeb http://mirror.example/debian bookworm-backports main\n\
                     deb http://vendor.example/node nodistro main\n";
        assert_eq!(translated("sources.list", lines), "");
        let disabled = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nEnabled: no\n";
        assert_eq!(translated("x.sources", disabled), "");
    }

    #[test]
    fn the_same_entry_in_two_files_is_taken_once() {
        let text = "deb http://mirror.example/debian bookworm main".to_owned();
        let files = [("a.list".to_owned(), text.clone()), ("b.list".to_owned(), text)];
        assert_eq!(translate(&files, "bookworm", "trixie").len(), 1);
    }

    #[test]
    fn a_named_mirror_is_taken_as_it_is() {
        let text = to_list(&of_mirror("http://mirror.example/debian", "trixie", None));
        assert_eq!(
            text,
            "deb http://mirror.example/debian trixie main non-free-firmware\n"
        );
    }
}
