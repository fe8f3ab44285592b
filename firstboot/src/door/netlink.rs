//! Netlink, synchronous: one request on a fresh socket, its answers, its acknowledgement.
//!
//! A socket belongs to the network namespace of the thread that opens it, so none is kept. Parsing is apart from the
//! socket and total: whatever bytes come, the outcome is a value or an error.

use netlink_packet_core::{
    DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::{TimeVal, TimeValLike};
use std::convert::Infallible;
use std::io;

/// Seconds to wait for an answer. The kernel works inside `send`, so an answer is there when that returns.
const PATIENCE: i64 = 10;

/// Length of a netlink message's header, byte.
const HEADER_LENGTH: usize = 16;

/// The kernel's explanation in an acknowledgement (`NLMSGERR_ATTR_MSG`).
const EXPLANATION: u16 = 1;

/// A message without its netlink header: a type and a body that the caller reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Family, or command of the route family.
    pub(super) kind: u16,
    /// All that follows the netlink header.
    pub(super) body: Vec<u8>,
}

/// A request that was not answered as asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetlinkError {
    /// The socket failed.
    #[error("netlink: {0}")]
    Socket(#[from] io::Error),
    /// The kernel said no.
    #[error("{errno}{}", said(explanation.as_deref()))]
    Refused {
        /// Its error.
        errno: Errno,
        /// Its words, on kernels and drivers that give any.
        explanation: Option<String>,
    },
    /// The answer makes no sense.
    #[error("netlink answer: {0}")]
    Malformed(String),
}

fn said(explanation: Option<&str>) -> String {
    explanation.map(|text| format!(" ({text})")).unwrap_or_default()
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.body.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.body);
    }
}

impl NetlinkDeserializable for Message {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        Ok(Self {
            kind: header.message_type,
            body: payload.to_vec(),
        })
    }
}

/// Sends `message` on a new socket of `protocol` and returns the answers that came before the acknowledgement.
pub(super) fn call(protocol: isize, message: Message) -> Result<Vec<Message>, NetlinkError> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    // Both only make an error more telling; a kernel that lacks them answers all the same.
    let _ = socket.set_ext_ack(true);
    let _ = socket.set_cap_ack(true);
    setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(PATIENCE)).map_err(io::Error::from)?;
    socket.send_to(&encoded(message), &SocketAddr::new(0, 0), 0)?;
    let mut answers = Vec::new();
    loop {
        let bytes = match socket.recv_from_full() {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if collect(&bytes, &mut answers)? {
            return Ok(answers);
        }
    }
}

/// The bytes of a request that asks for an acknowledgement.
fn encoded(message: Message) -> Vec<u8> {
    let mut message = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::InnerMessage(message));
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK;
    message.header.sequence_number = 1;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Adds the answers in one datagram to `answers`; true when the acknowledgement was among them.
pub(super) fn collect(mut bytes: &[u8], answers: &mut Vec<Message>) -> Result<bool, NetlinkError> {
    let malformed = |why: &dyn ToString| NetlinkError::Malformed(why.to_string());
    while !bytes.is_empty() {
        let message = NetlinkMessage::<Message>::deserialize(bytes).map_err(|error| malformed(&error))?;
        match message.payload {
            NetlinkPayload::Error(error) => {
                return match error.code {
                    None => Ok(true),
                    Some(code) => Err(NetlinkError::Refused {
                        errno: Errno::from_raw(code.get().saturating_abs()),
                        explanation: explanation(&error.header),
                    }),
                };
            }
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::InnerMessage(inner) => answers.push(inner),
            NetlinkPayload::Overrun(_) => return Err(malformed(&"overrun")),
            _ => {}
        }
        let length = usize::try_from(message.header.length).unwrap_or(usize::MAX);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The kernel's words after the header of the request in a refusal, when it gave some.
fn explanation(after_code: &[u8]) -> Option<String> {
    let attributes = attributes(after_code.get(HEADER_LENGTH..)?).ok()?;
    let text = text(find(&attributes, EXPLANATION)?);
    (!text.is_empty()).then_some(text)
}

/// The attributes in `bytes`: kind, without its flags, and value.
pub(super) fn attributes(bytes: &[u8]) -> Result<Vec<(u16, &[u8])>, NetlinkError> {
    NlasIterator::new(bytes)
        .map(|attribute| {
            let attribute = attribute.map_err(|error| NetlinkError::Malformed(error.to_string()))?;
            let (kind, length) = (attribute.kind(), usize::from(attribute.length()));
            let value = attribute.into_inner().get(4..length);
            value
                .map(|value| (kind, value))
                .ok_or_else(|| NetlinkError::Malformed("attribute longer than its message".to_owned()))
        })
        .collect()
}

/// The value of the first attribute of a kind.
pub(super) fn find<'a>(attributes: &[(u16, &'a [u8])], kind: u16) -> Option<&'a [u8]> {
    attributes
        .iter()
        .find_map(|(found, value)| (*found == kind).then_some(*value))
}

/// A number of four bytes.
pub(super) fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_ne_bytes)
}

/// A text up to its first zero byte.
pub(super) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// An attribute that holds a number of four bytes.
pub(super) fn with_number(kind: u16, number: u32) -> DefaultNla {
    DefaultNla::new(kind, number.to_ne_bytes().to_vec())
}

/// An attribute that holds a text.
pub(super) fn with_text(kind: u16, text: &str) -> DefaultNla {
    DefaultNla::new(kind, [text.as_bytes(), &[0]].concat())
}

/// An attribute that holds attributes.
pub(super) fn nest(kind: u16, inner: &[DefaultNla]) -> DefaultNla {
    DefaultNla::new(kind | NLA_F_NESTED, bytes_of(inner))
}

/// The bytes of attributes.
pub(super) fn bytes_of(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A refusal as the kernel sends it: error code, header of the request, explanation.
    fn refusal(errno: i32, words: &str) -> Vec<u8> {
        let mut body = (-errno).to_ne_bytes().to_vec();
        body.extend([0; HEADER_LENGTH]);
        body.extend(bytes_of(&[with_text(EXPLANATION, words)]));
        datagram(2, &body)
    }

    /// One message with its header.
    fn datagram(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER_LENGTH + body.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn answers_are_collected_until_the_acknowledgement() {
        let bytes = [
            datagram(30, b"one."),
            datagram(30, b"two.."),
            datagram(2, &[0; 20]),
        ]
        .concat();
        let mut answers = Vec::new();
        assert!(collect(&bytes, &mut answers).unwrap());
        let bodies: Vec<_> = answers.iter().map(|answer| answer.body.as_slice()).collect();
        assert_eq!(bodies, [b"one.".as_slice(), b"two..".as_slice()]);
        assert!(!collect(&datagram(30, b"more"), &mut answers).unwrap());
    }

    #[test]
    fn a_refusal_carries_the_words_of_the_kernel() {
        let error = collect(
            &refusal(22, "requested ring size exceeds maximum"),
            &mut Vec::new(),
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "EINVAL: Invalid argument (requested ring size exceeds maximum)"
        );
    }

    #[test]
    fn attributes_survive_a_round_trip() {
        let bytes = bytes_of(&[
            with_number(5, 4096),
            nest(1, &[with_text(2, "eth0")]),
            DefaultNla::new(3, vec![]),
        ]);
        let outer = attributes(&bytes).unwrap();
        assert_eq!(find(&outer, 5).and_then(number), Some(4096));
        let inner = attributes(find(&outer, 1).unwrap()).unwrap();
        assert_eq!(text(find(&inner, 2).unwrap()), "eth0");
        assert_eq!(find(&outer, 3), Some([].as_slice()));
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let mut answers = Vec::new();
            // Whether it is an error is the bytes' affair; that it returns is ours.
            let _ = collect(&bytes, &mut answers);
            let _ = attributes(&bytes);
            let _ = explanation(&bytes);
        }

        #[test]
        fn a_damaged_answer_gives_a_value_or_an_error(
            at in 0..60_usize,
            byte in any::<u8>(),
            cut in 0..64_usize,
        ) {
            let mut bytes = refusal(95, "not supported by this driver");
            let at = at.min(bytes.len() - 1);
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut.min(bytes.len()));
            let _ = collect(&bytes, &mut Vec::new());
        }
    }
}
