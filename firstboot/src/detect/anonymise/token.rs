//! Addresses and numbers inside of a text.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The shortest run of hexadecimal digits that is taken for a number of a device: a WWN has 16.
const SHORTEST_ID: usize = 16;

/// What names a device or a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// 6 octets of Ethernet, or 20 of InfiniBand.
    Mac(&'a str),
    /// A UUID, or the one of a software array with its colons.
    Uuid(&'a str),
    /// An IPv4 address.
    V4,
    /// An IPv6 address.
    V6,
    /// A long hexadecimal number.
    Id(&'a str),
}

/// `text` with each token replaced.
pub(super) fn replaced(text: &str, mut stand_in: impl FnMut(Token<'_>) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    // The character before `rest`: a token does not begin in the middle of a word.
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let found = starts(before).then(|| first_token(rest)).flatten();
        let length = match found {
            Some((token, length)) => {
                out.push_str(&stand_in(token));
                length
            }
            None => {
                out.push(first);
                first.len_utf8()
            }
        };
        before = rest[..length].chars().last();
        rest = &rest[length..];
    }
    out
}

/// Whether a token may begin after this character: `v1.2.3.4` is a version, the `0x` of a number is not part of it.
fn starts(before: Option<char>) -> bool {
    before.is_none_or(|c| !c.is_ascii_alphanumeric() || c == 'x')
}

/// The token that a text begins with, and its length.
fn first_token(text: &str) -> Option<(Token<'_>, usize)> {
    let run = |is_part: fn(char) -> bool| &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())];
    let colons = run(|c| c.is_ascii_hexdigit() || c == ':');
    let dashes = run(|c| c.is_ascii_hexdigit() || c == '-');
    let digits = run(|c| c.is_ascii_hexdigit());
    let v4 = run(|c| c.is_ascii_digit() || c == '.').trim_end_matches('.');
    let ends = |length: usize| !text[length..].starts_with(|c: char| c.is_ascii_alphanumeric());
    let whole = |token: &str, is: bool| is && ends(token.len());
    // A port may follow a MAC or an address, after one more colon.
    let octets = |count: usize| Some(colons.get(..count * 3 - 1)?).filter(|part| is_octets(part, count));
    if let Some(mac) = octets(20).or_else(|| octets(6)).filter(|mac| ends(mac.len())) {
        return Some((Token::Mac(mac), mac.len()));
    }
    if whole(dashes, is_uuid(dashes, '-', &[8, 4, 4, 4, 12])) {
        return Some((Token::Uuid(dashes), dashes.len()));
    }
    if whole(colons, is_uuid(colons, ':', &[8; 4])) {
        return Some((Token::Uuid(colons), colons.len()));
    }
    if whole(v4, v4.parse::<Ipv4Addr>().is_ok()) {
        return Some((Token::V4, v4.len()));
    }
    if whole(colons, colons.parse::<Ipv6Addr>().is_ok()) {
        return Some((Token::V6, colons.len()));
    }
    let is_id = digits.len() >= SHORTEST_ID && digits.bytes().any(|byte| byte.is_ascii_digit());
    whole(digits, is_id).then_some((Token::Id(digits), digits.len()))
}

fn is_octets(text: &str, count: usize) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == count && parts.iter().all(|part| part.len() == 2)
}

fn is_uuid(text: &str, separator: char, lengths: &[usize]) -> bool {
    text.split(separator).map(str::len).eq(lengths.iter().copied())
}
