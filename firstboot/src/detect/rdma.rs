//! The RDMA side of a port: its rate, and whether it is an InfiniBand or Omni-Path fabric.
//!
//! An IPoIB interface reports no speed that could be used; the rate of the port stands in the infiniband class. For
//! a port that speaks RoCE it repeats the Ethernet speed.

use super::attributes::Attributes;
use super::source::{ONE_VALUE, Source};
use dtnforge_profiles::facts;

/// Reads the port rate of an interface that has an RDMA device, and the fabric of an IPoIB interface.
pub(super) fn read(source: &dyn Source, attributes: &mut Attributes<'_>, nic: &mut facts::Nic) {
    let Some(device) = first(source, &attributes.path("device/infiniband")) else {
        return;
    };
    // Two ports of one function differ by `dev_port`, which counts from 0; RDMA counts from 1.
    let port = source
        .sign(&attributes.path("dev_port"))
        .and_then(|text| text.parse::<u32>().ok())
        .unwrap_or(0);
    let directory = format!("device/infiniband/{device}/ports/{}", port.saturating_add(1));
    nic.ib_rate_mbps = rate(source, attributes, &format!("{directory}/rate"));
    if nic.kind.as_deref() == Some("ipoib") {
        nic.fabric = Some(fabric(nic.driver.as_deref(), &device).into());
    }
}

/// The same for a PCI function without any interface: its name is then that of the RDMA device.
pub(super) fn read_without_interface(source: &dyn Source, function: &str, nic: &mut facts::Nic) {
    let Some(device) = first(source, &format!("{function}/infiniband")) else {
        return;
    };
    let mut attributes = Attributes::of(source, &format!("{function}/infiniband/{device}/ports/1"));
    nic.ib_rate_mbps = rate(source, &mut attributes, "rate");
    if attributes.text("fabric", "link_layer").as_deref() == Some("InfiniBand") {
        nic.fabric = Some(fabric(nic.driver.as_deref(), &device).into());
    }
    nic.kind = Some("rdma-only".to_owned());
    nic.name = Some(device);
    nic.errors.append(&mut attributes.errors);
}

fn first(source: &dyn Source, directory: &str) -> Option<String> {
    source.list(directory).ok()?.into_iter().next()
}

fn rate(source: &dyn Source, attributes: &mut Attributes<'_>, file: &str) -> Option<i64> {
    let text = source.text(&attributes.path(file), ONE_VALUE);
    let text = attributes.keep("ib_rate_mbps", file, text)?;
    parse_rate(&text)
}

/// Mb/s out of `100 Gb/sec (4X EDR)`.
fn parse_rate(text: &str) -> Option<i64> {
    let (number, unit) = text.trim().split_once(' ')?;
    // `2.5 Gb/sec` is the only one with a fraction, of one digit.
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let (whole, tenths): (i64, i64) = (whole.parse().ok()?, tenths.parse().ok()?);
    (unit.starts_with("Gb/sec") && whole >= 0 && (0..10).contains(&tenths))
        .then(|| whole.checked_mul(1000)?.checked_add(tenths * 100))?
}

fn fabric(driver: Option<&str>, device: &str) -> &'static str {
    let omni_path = driver == Some("hfi1") || device.starts_with("hfi1");
    if omni_path { "Omni-Path" } else { "InfiniBand" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_rate_is_told_in_megabits() {
        for (text, rate) in [
            ("100 Gb/sec (4X EDR)\n", Some(100_000)),
            ("2.5 Gb/sec (1X SDR)", Some(2_500)),
            ("40 Gb/sec", Some(40_000)),
            ("Unknown", None),
            ("9223372036854775807 Gb/sec", None),
        ] {
            assert_eq!(parse_rate(text), rate, "{text:?}");
        }
    }
}
