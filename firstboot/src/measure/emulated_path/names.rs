//! Names and addresses of the emulated path. All names begin with [`PREFIX`], so that what a killed agent left behind
//! is known as ours.
//!
//! ```text
//! dtnf-snd                    dtnf-mid                       dtnf-rcv
//! 198.18.0.2  dtnf-snd-m ──── dtnf-mid-s   dtnf-mid-r ──── dtnf-rcv-m  198.18.0.6
//! ```

/// Beginning of every namespace and link of ours.
pub(super) const PREFIX: &str = "dtnf-";

/// Namespace of the sender.
pub(super) const SENDER: &str = "dtnf-snd";
/// Namespace of the router, which delays and limits.
pub(super) const ROUTER: &str = "dtnf-mid";
/// Namespace of the receiver.
pub(super) const RECEIVER: &str = "dtnf-rcv";

/// The router's link to the sender: carries acknowledgements.
pub(super) const TO_SENDER: &str = "dtnf-mid-s";
/// The router's link to the receiver: carries data.
pub(super) const TO_RECEIVER: &str = "dtnf-mid-r";
/// The sender's link.
pub(super) const AT_SENDER: &str = "dtnf-snd-m";
/// The receiver's link.
pub(super) const AT_RECEIVER: &str = "dtnf-rcv-m";

// Addresses out of 198.18.0.0/15, which RFC 2544 sets aside for benchmarks. They exist in these namespaces only.

/// The receiver's address.
pub(super) const RECEIVER_ADDRESS: &str = "198.18.0.6";
/// The sender's address.
pub(super) const SENDER_ADDRESS: &str = "198.18.0.2";
/// The sender's address with its prefix length.
pub(super) const SENDER_NET: &str = "198.18.0.2/30";
/// The receiver's address with its prefix length.
pub(super) const RECEIVER_NET: &str = "198.18.0.6/30";
/// The router's address on the sender's side.
pub(super) const ROUTER_AT_SENDER: &str = "198.18.0.1";
/// The router's address on the receiver's side.
pub(super) const ROUTER_AT_RECEIVER: &str = "198.18.0.5";
/// The router's address on the sender's side with its prefix length.
pub(super) const ROUTER_NET_AT_SENDER: &str = "198.18.0.1/30";
/// The router's address on the receiver's side with its prefix length.
pub(super) const ROUTER_NET_AT_RECEIVER: &str = "198.18.0.5/30";

/// Port of the iperf3 server inside the receiver's namespace.
pub(super) const IPERF3_PORT: u16 = 5201;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_the_prefix_and_fit_into_the_kernels_15_characters() {
        for name in [
            SENDER,
            ROUTER,
            RECEIVER,
            TO_SENDER,
            TO_RECEIVER,
            AT_SENDER,
            AT_RECEIVER,
        ] {
            assert!(name.starts_with(PREFIX) && name.len() <= 15, "{name}");
        }
    }
}
