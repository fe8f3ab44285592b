//! `dtnforge serve OUT`: gives a netboot set to the machines of a bench or a small site.

use super::Failure;
use crate::interrupt;
use crate::serve::{Http, Set, tftp};
use anyhow::Context as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `dtnforge serve`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Files are only read, each fetch is a line on standard output. Only one address is listened on. A production site copies the
files to a server of its own: nothing here is more than plain files.

Example: dtnforge serve out/node --listen 192.0.2.1:8080 --tftp 192.0.2.1:69
Then, in iPXE: chain http://192.0.2.1:8080/boot.ipxe"
)]
pub struct ServeArgs {
    /// Output directory of a build with \"netboot\" in image.outputs, or any directory of files
    out: PathBuf,
    /// Address and port for HTTP; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Address and port for TFTP, for firmwares that fetch ipxe.efi before they know HTTP
    #[arg(long, value_name = "ADDRESS:PORT")]
    tftp: Option<SocketAddr>,
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// The directory is not there, or an address cannot be listened on.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    let set = Set::open(&args.out).map_err(|error| Failure::BadInput(error.into()))?;
    interrupt::watch().context("cannot take signals")?;
    let http = Http::start(&set, args.listen)?;
    println!(
        "serving {} on http://{}/",
        set.directory().display(),
        http.address()
    );
    if set.has("boot.ipxe") {
        println!("in iPXE: chain http://{}/boot.ipxe", http.address());
    }
    if let Some(address) = args.tftp {
        tftp::start(&set, address)?;
        println!("and on tftp://{address}/");
    }
    while !interrupt::requested() {
        std::thread::sleep(Duration::from_millis(200));
    }
    http.stop();
    Ok(())
}
