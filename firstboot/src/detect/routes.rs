//! The routing tables of the kernel, as /proc shows them, for both families in one form.

use super::source::{ONE_TABLE, ReadError, Source};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const UP: u32 = 0x1;
const REJECT: u32 = 0x200;
const LOCAL: u32 = 0x8000_0000;

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The interface that packets leave by.
    pub interface: String,
    /// Network.
    pub destination: IpAddr,
    /// Bits of the network; 0 for a default route.
    pub prefix: u8,
    /// The router; `None` for a network on the link.
    pub gateway: Option<IpAddr>,
    /// The lowest wins.
    pub metric: u32,
}

impl Route {
    /// Whether this is a default route.
    pub fn is_default(&self) -> bool {
        self.prefix == 0
    }

    /// Whether packets for `address` match.
    pub fn covers(&self, address: IpAddr) -> bool {
        match (self.destination, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                same_bits(&network.octets(), &address.octets(), self.prefix)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                same_bits(&network.octets(), &address.octets(), self.prefix)
            }
            _ => false,
        }
    }
}

fn same_bits(network: &[u8], address: &[u8], prefix: u8) -> bool {
    let mut left = u32::from(prefix);
    for (a, b) in network.iter().zip(address) {
        let bits = left.min(8);
        let mask = u8::try_from(0xff00_u32 >> bits & 0xff).unwrap_or(0xff);
        if a & mask != b & mask {
            return false;
        }
        left -= bits;
    }
    true
}

/// All routes that carry packets, of both families. A family that the kernel lacks has none.
///
/// # Errors
/// The file that could not be read, and why.
pub fn read(source: &dyn Source) -> Result<Vec<Route>, (&'static str, ReadError)> {
    let mut routes = table(source, "/proc/net/route", parse_ipv4)?;
    routes.extend(table(source, "/proc/net/ipv6_route", parse_ipv6)?);
    Ok(routes)
}

fn table(
    source: &dyn Source,
    path: &'static str,
    parse: fn(&str) -> Vec<Route>,
) -> Result<Vec<Route>, (&'static str, ReadError)> {
    match source.text(path, ONE_TABLE) {
        Ok(text) => Ok(parse(&text)),
        Err(ReadError::Missing) => Ok(Vec::new()),
        Err(error) => Err((path, error)),
    }
}

/// /proc/net/route: `Iface Destination Gateway Flags RefCnt Use Metric Mask ...`, addresses as the memory of the CPU
/// has them. Lines of another form are left out.
pub fn parse_ipv4(text: &str) -> Vec<Route> {
    text.lines().skip(1).filter_map(ipv4_line).collect()
}

fn ipv4_line(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [interface, destination, gateway, flags, _, _, metric, mask, ..] = fields[..] else {
        return None;
    };
    let address = |hex: &str| Some(Ipv4Addr::from(u32::from_str_radix(hex, 16).ok()?.to_ne_bytes()));
    carries(u32::from_str_radix(flags, 16).ok()?)?;
    let gateway = address(gateway)?;
    Some(Route {
        interface: interface.to_owned(),
        destination: address(destination)?.into(),
        prefix: u8::try_from(address(mask)?.to_bits().count_ones()).ok()?,
        gateway: (!gateway.is_unspecified()).then_some(gateway.into()),
        metric: metric.parse().ok()?,
    })
}

/// /proc/net/ipv6_route: `destination prefix source prefix gateway metric refcnt use flags interface`.
pub fn parse_ipv6(text: &str) -> Vec<Route> {
    text.lines().filter_map(ipv6_line).collect()
}

fn ipv6_line(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [destination, prefix, _, _, gateway, metric, _, _, flags, interface] = fields[..] else {
        return None;
    };
    let flags = u32::from_str_radix(flags, 16).ok()?;
    carries(flags)?;
    // An address of our own is in this table too; it routes nothing.
    if flags & LOCAL != 0 || interface == "lo" {
        return None;
    }
    let gateway = ipv6_hex(gateway)?;
    Some(Route {
        interface: interface.to_owned(),
        destination: ipv6_hex(destination)?.into(),
        prefix: u8::from_str_radix(prefix, 16)
            .ok()
            .filter(|prefix| *prefix <= 128)?,
        gateway: (!gateway.is_unspecified()).then_some(gateway.into()),
        metric: u32::from_str_radix(metric, 16).ok()?,
    })
}

/// 32 hexadecimal digits of /proc/net.
pub fn ipv6_hex(hex: &str) -> Option<Ipv6Addr> {
    (hex.len() == 32).then_some(())?;
    u128::from_str_radix(hex, 16).ok().map(Ipv6Addr::from)
}

fn carries(flags: u32) -> Option<()> {
    (flags & UP != 0 && flags & REJECT == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_ipv4_table_is_read() {
        let text = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                    eth0\t00000000\t0202000A\t0003\t0\t0\t1024\t00000000\t0\t0\t0\n\
                    eth0\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
                    *\t0000000A\t00000000\t0201\t0\t0\t0\t000000FF\t0\t0\t0\n\
                    cut line\n";
        let routes = parse_ipv4(text);
        assert_eq!(routes.len(), 2, "{routes:?}");
        assert!(routes[0].is_default());
        assert_eq!(routes[0].gateway, Some("10.0.2.2".parse().unwrap()));
        assert_eq!(routes[0].metric, 1024);
        assert_eq!(routes[1].prefix, 24);
        assert!(routes[1].covers("10.0.2.15".parse().unwrap()));
        assert!(!routes[1].covers("10.0.3.15".parse().unwrap()));
        assert!(!routes[1].covers("::1".parse().unwrap()));
    }

    #[test]
    fn the_ipv6_table_is_read_without_our_own_addresses() {
        let zero = "0".repeat(32);
        let text = format!(
            "fd00000000000000000000000000000a 80 {zero} 00 {zero} 00000000 00000003 00000000 80200001 eth0\n\
             {zero} 00 {zero} 00 fe800000000000000000000000000001 00000400 00000002 00000000 00000003 eth0\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 lo\n\
             zz 00\n"
        );
        let routes = parse_ipv6(&text);
        assert_eq!(routes.len(), 1, "{routes:?}");
        assert!(routes[0].is_default());
        assert_eq!(routes[0].gateway, Some("fe80::1".parse().unwrap()));
    }

    #[test]
    fn prefixes_that_end_inside_a_byte_are_compared_by_bit() {
        let route = Route {
            interface: "x".into(),
            destination: "192.0.2.128".parse().unwrap(),
            prefix: 25,
            gateway: None,
            metric: 0,
        };
        assert!(route.covers("192.0.2.200".parse().unwrap()));
        assert!(!route.covers("192.0.2.100".parse().unwrap()));
    }
}
