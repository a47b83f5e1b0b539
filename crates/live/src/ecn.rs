//! ECN for the connections of some stacks only.
//!
//! In Linux, `tcp_ecn` is a setting of a namespace, and sockets have no option for ECN. But a connection also requests
//! and accepts ECN if its route has the feature ECN. If only some stacks of a scenario use ECN, the sockets of these
//! stacks get a firewall mark (SO_MARK), and packets with this mark get a routing table of their own:
//!
//! ```text
//! ip rule add fwmark 1 table 1
//! ip route add 10.77.0.0/16 dev bl0 table 1 features ecn
//! ```
//!
//! Applications use IPv4 only, so IPv6 needs no such rule.
//!
//! Source: rtnetlink(7), linux/rtnetlink.h, linux/fib_rules.h (numbers of attributes).

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};
use std::io;

/// Mark (SO_MARK) of sockets whose stack uses ECN. It is also the number of the routing table for packets with
/// this mark.
pub(crate) const MARK: u8 = 1;

/// How many of the scenario's TCP stacks use ECN: none, some, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EcnUse {
    /// No stack uses ECN, or there are no TCP applications.
    Never,
    /// Some stacks use ECN, others do not.
    Sometimes,
    /// All stacks use ECN.
    Always,
}

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_CREATE: u16 = 0x400;

const RTAX_FEATURES: u16 = 12;
const RTAX_FEATURE_ECN: u32 = 1;
const FRA_FWMARK: u16 = 10;
const FR_ACT_TO_TBL: u8 = 1;

/// Length of `struct nlmsghdr`, bytes.
const HEADER: usize = 16;

/// Makes connections of sockets with [`MARK`] use ECN, in the namespace of the calling thread. `index` is the interface
/// index of the device. `network` is the address of its IPv4 network, and `prefix` is the length of the prefix in bits.
///
/// Errors: the kernel has no policy routing (CONFIG_IP_MULTIPLE_TABLES).
pub(crate) fn for_marked(index: u32, network: [u8; 4], prefix: u8) -> io::Result<()> {
    let family = libc::AF_INET as u8;
    let metrics = attribute(RTAX_FEATURES, &RTAX_FEATURE_ECN.to_ne_bytes());
    // the fields of struct rtmsg: family, prefix length of destination and source, TOS, table, protocol, scope, type,
    // flags
    let (from, scope, kind) = (libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, libc::RTN_UNICAST);
    let mut route = vec![family, prefix, 0, 0, MARK, from, scope, kind, 0, 0, 0, 0];
    route.extend(attribute(libc::RTA_DST, &network));
    route.extend(attribute(libc::RTA_OIF, &index.to_ne_bytes()));
    route.extend(attribute(libc::RTA_METRICS, &metrics));
    request(libc::RTM_NEWROUTE, &route)?;
    // the fields of struct fib_rule_hdr: family, prefix length of destination and source, TOS, table, reserved (2),
    // action, flags
    let mut rule = vec![family, 0, 0, 0, MARK, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
    rule.extend(attribute(FRA_FWMARK, &u32::from(MARK).to_ne_bytes()));
    request(libc::RTM_NEWRULE, &rule)
}

/// Returns an attribute (`struct rtattr`). `value` must have a multiple of 4 bytes, because no padding is added.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    [&(4 + value.len() as u16).to_ne_bytes(), &kind.to_ne_bytes(), value].concat()
}

/// Sends a request to the kernel and waits for the answer.
fn request(kind: u16, body: &[u8]) -> io::Result<()> {
    let kernel = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE).to_ne_bytes());
    // the sequence number and the sender's port number may be 0
    message.extend([0; 8]);
    message.extend(body);
    send(&kernel, &message, SendFlags::empty())?;
    // the answer has the type NLMSG_ERROR: after its header, it has 0 for success, or the negative number of an error
    let mut answer = [0; 256];
    recv(&kernel, &mut answer[..], RecvFlags::empty())?;
    match i32::from_ne_bytes([answer[HEADER], answer[HEADER + 1], answer[HEADER + 2], answer[HEADER + 3]]) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
