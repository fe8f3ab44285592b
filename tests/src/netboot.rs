//! A node that boots from the network: the server of its files, and a medium with the iPXE that fetches them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::programs::Programs;
use crate::vm::fresh_path;
use crate::{Image, Trouble, tools};

/// How long the server may take to listen, and a guest to come to it.
const LIMIT: Duration = Duration::from_secs(900);
/// The host, as a guest on QEMU's user network sees it.
const HOST: &str = "10.0.2.2";
const MEDIUM_MIB: u64 = 32;

/// `dtnforge serve` for one image; it ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    lines: Receiver<String>,
    port: u16,
}

impl Server {
    /// Serves the netboot set of `image` on a free port.
    ///
    /// # Errors
    /// When it does not start.
    pub fn of(image: &Image) -> Result<Server, Trouble> {
        let mut command = Command::new(&Programs::get()?.dtnforge);
        command
            .arg("serve")
            .arg(&image.out)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(Trouble::file("start", &image.out))?;
        let (sender, lines) = channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let said = BufReader::new(output).lines().map_while(Result::ok);
                said.take_while(|line| sender.send(line.clone()).is_ok()).count()
            });
        }
        let first = lines.recv_timeout(LIMIT).unwrap_or_default();
        let port = first
            .rsplit(':')
            .next()
            .and_then(|end| end.trim_end_matches('/').parse().ok());
        let mut server = Server {
            child,
            lines,
            port: 0,
        };
        match port {
            Some(port) => server.port = port,
            None => {
                return Err(Trouble::Answer {
                    what: "dtnforge serve".to_owned(),
                    reason: "it names no port".to_owned(),
                    text: first,
                });
            }
        }
        Ok(server)
    }

    /// Waits until a line of the server holds `text`, then ends it: the server is gone half-way.
    pub fn gone_after(self, text: &'static str) -> thread::JoinHandle<bool> {
        thread::spawn(move || {
            while let Ok(line) = self.lines.recv_timeout(LIMIT) {
                if line.contains(text) {
                    return true;
                }
            }
            false
        })
    }

    /// A disk that holds nothing but iPXE and the address of this server.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn medium(&self, image: &Image, name: &str) -> Result<Image, Trouble> {
        let disk = fresh_path(name, "ipxe.raw")?;
        let script = fresh_path(name, "ipxe")?;
        let url = format!("http://{HOST}:{}/boot.ipxe", self.port);
        let text = format!("#!ipxe\ndhcp || exit 1\nchain {url} || exit 1\n");
        std::fs::write(&script, text).map_err(Trouble::file("write", &script))?;
        let file = std::fs::File::create(&disk).map_err(Trouble::file("create", &disk))?;
        file.set_len(MEDIUM_MIB << 20)
            .map_err(Trouble::file("create", &disk))?;
        tools::output("usr/sbin/mkfs.fat", [&disk])?;
        let mtools = |tool: &str, rest: &[PathBuf]| {
            let head: [PathBuf; 4] = ["-c".into(), tool.into(), "-i".into(), disk.clone()];
            tools::output("usr/bin/mtools", head.iter().chain(rest))
        };
        mtools("mmd", &["::/EFI".into(), "::/EFI/BOOT".into()])?;
        let ipxe = image.out.join("netboot/ipxe.efi");
        mtools("mcopy", &[ipxe, "::/EFI/BOOT/BOOTX64.EFI".into()])?;
        mtools("mcopy", &[script, "::/autoexec.ipxe".into()])?;
        Ok(Image {
            out: disk,
            manifest: image.manifest.clone(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way nobody waits for it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory that the set of `image` asks for, MiB, as its script says.
///
/// # Errors
/// When the script cannot be read, or does not say.
pub fn least_mib(image: &Image) -> Result<u64, Trouble> {
    let path = image.out.join("netboot/boot.ipxe");
    let text = std::fs::read_to_string(&path).map_err(Trouble::file("read", &path))?;
    let said = text.lines().find_map(|line| line.strip_prefix("# A node needs "));
    let number = said.and_then(|rest| rest.split(' ').next()?.parse().ok());
    number.ok_or_else(|| Trouble::Answer {
        what: path.display().to_string(),
        reason: "it does not say what memory a node needs".to_owned(),
        text,
    })
}
