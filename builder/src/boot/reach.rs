//! Watches for the guest's sshd on the forwarded port, because a node counts as reachable when that answers.
//!
//! QEMU itself accepts a connection to a forwarded port whatever the guest does, so only the server's first line
//! (`SSH-`) counts. And it counts only after a silence in the same boot: userspace that is on its way down still answers.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long sshd may take to say its first line. Emulation is slow.
const ANSWER: Duration = Duration::from_secs(5);
/// The time between two calls.
const PAUSE: Duration = Duration::from_millis(500);
/// How an SSH server's first line begins (RFC 4253, 4.2).
const GREETING: &[u8] = b"SSH-";

/// What the session and the caller tell each other.
#[derive(Debug)]
enum Stage {
    /// Waiting for a silence in the boot that began then.
    Silence(Instant),
    /// Waiting for an answer.
    Answer,
    /// It answered then, not fetched yet.
    Answered(Instant),
    /// Nothing to do until the next boot.
    Idle,
    /// The guest is gone.
    Over,
}

/// Calls a port until it answers. Ends with its owner.
#[derive(Debug)]
pub struct Reach(Arc<Mutex<Stage>>);

impl Reach {
    /// Watches `port` of 127.0.0.1 from now on.
    pub fn watch(port: u16) -> Reach {
        let stage = Arc::new(Mutex::new(Stage::Silence(Instant::now())));
        let shared = Arc::clone(&stage);
        std::thread::spawn(move || call_again(port, &shared));
        Reach(stage)
    }

    /// A boot begins: what answers before the next silence belongs to the former one.
    pub fn boot_begins(&self) {
        *lock(&self.0) = Stage::Silence(Instant::now());
    }

    /// When it answered, once for each boot.
    pub fn take_answer(&self) -> Option<Instant> {
        let mut stage = lock(&self.0);
        let Stage::Answered(at) = *stage else {
            return None;
        };
        *stage = Stage::Idle;
        Some(at)
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        *lock(&self.0) = Stage::Over;
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

fn call_again(port: u16, shared: &Mutex<Stage>) {
    loop {
        let wanted = match *lock(shared) {
            Stage::Over => return,
            Stage::Silence(_) | Stage::Answer => true,
            Stage::Answered(_) | Stage::Idle => false,
        };
        if wanted {
            let began = Instant::now();
            let answered = answers(port);
            let mut stage = lock(shared);
            *stage = next(&stage, began, answered);
        }
        std::thread::sleep(PAUSE);
    }
}

/// What follows from a call that began at `began`.
fn next(stage: &Stage, began: Instant, answered: bool) -> Stage {
    match *stage {
        Stage::Silence(boot) if !answered && began >= boot => Stage::Answer,
        Stage::Answer if answered => Stage::Answered(Instant::now()),
        Stage::Silence(boot) => Stage::Silence(boot),
        Stage::Answer => Stage::Answer,
        Stage::Answered(at) => Stage::Answered(at),
        Stage::Idle => Stage::Idle,
        Stage::Over => Stage::Over,
    }
}

/// Whether an SSH server says its first line.
fn answers(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut greeting = [0; GREETING.len()];
    TcpStream::connect_timeout(&address, ANSWER)
        .and_then(|mut stream| {
            stream.set_read_timeout(Some(ANSWER))?;
            stream.read_exact(&mut greeting)
        })
        .is_ok_and(|()| greeting == GREETING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    /// A server that says `words`, one after the other, and then is gone.
    fn server(words: &'static [&'static str]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for word in words {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(word.as_bytes()).unwrap();
            }
        });
        port
    }

    fn answer(reach: &Reach) -> Option<Instant> {
        let limit = Instant::now() + Duration::from_secs(10);
        while Instant::now() < limit {
            if let Some(at) = reach.take_answer() {
                return Some(at);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    #[test]
    fn an_open_port_is_no_answer_but_a_greeting_is() {
        let port = server(&["", "HTTP/1.1 400\r\n", "SSH-2.0-OpenSSH_10.0\r\n"]);
        assert!(!answers(port));
        assert!(!answers(port));
        assert!(answers(port));
    }

    #[test]
    fn an_answer_counts_after_a_silence_and_once() {
        let reach = Reach::watch(server(&["SSH-2.0-old", "", "SSH-2.0-new"]));
        assert!(answer(&reach).is_some());
        assert!(reach.take_answer().is_none());
    }

    #[test]
    fn a_call_that_began_before_the_boot_is_no_silence() {
        let before = Instant::now();
        let boot = before + Duration::from_secs(1);
        assert!(matches!(
            next(&Stage::Silence(boot), before, false),
            Stage::Silence(_)
        ));
        assert!(matches!(next(&Stage::Silence(boot), boot, false), Stage::Answer));
        assert!(matches!(
            next(&Stage::Silence(boot), boot, true),
            Stage::Silence(_)
        ));
    }
}
