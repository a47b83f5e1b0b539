//! A TCP connection of an application: two sockets, one in each namespace.

use crate::sys::{TcpInfo, set_notsent_lowat};
use measure::tally::SenderState;
use std::os::fd::OwnedFd;
use traffic::ConnId;
use units::Duration;

/// The progress of one end of a connection towards its FIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Closing {
    /// More data may be written.
    #[default]
    No,
    /// No more data will be written; the FIN follows the last byte.
    Requested,
    /// The FIN has been sent, or is queued in the kernel.
    FinSent,
}

#[derive(Debug, Default)]
pub(super) struct End {
    pub socket: Option<OwnedFd>,
    pub connected: bool,
    /// Bytes not yet passed to the kernel; `u64::MAX` for endless data.
    pub to_send: u64,
    /// Bytes that the kernel has accepted.
    pub accepted: u64,
    /// Maximum number of unsent bytes in the socket; `None` if there is no limit.
    pub notsent_lowat: Option<u32>,
    pub closing: Closing,
    /// True once the FIN has been received.
    pub eof: bool,
    /// True if epoll watches the connected socket for output, and so reports when the socket becomes writable.
    pub wants_write: bool,
    /// The kernel's counters as last read.
    pub last_info: TcpInfo,
}

impl End {
    /// Limits the unsent bytes in the socket. If there is no socket yet, the limit applies once there is one.
    pub(super) fn limit_unsent(&mut self, limit: u32) {
        if self.notsent_lowat.replace(limit) != Some(limit)
            && let Some(socket) = &self.socket
        {
            // if the kernel refuses the limit, it reports the socket as writable more often than necessary
            let _ = set_notsent_lowat(socket, limit);
        }
    }
}

#[derive(Debug)]
pub(super) struct Conn {
    pub id: ConnId,
    pub app: usize,
    pub service: usize,
    pub row: u32,
    /// Number of the connection within its application, from 1.
    pub number: u32,
    /// The client's port.
    pub port: u16,
    pub ends: [End; 2],
}

/// Linux's infinite slow start threshold (TCP_INFINITE_SSTHRESH).
const INFINITE: u32 = 0x7fff_ffff;

/// Returns the congestion window and related state of the kernel's sender.
pub(super) fn sender_state(info: &TcpInfo) -> SenderState {
    let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
    SenderState {
        cwnd_bytes: bytes(info.cwnd),
        ssthresh_bytes: if info.ssthresh >= INFINITE { u64::MAX } else { bytes(info.ssthresh) },
        srtt: Duration::from_micros(u64::from(info.rtt_us)),
        path: None,
    }
}
