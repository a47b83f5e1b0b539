//! One TCP connection of an application: two sockets, one in each namespace.

use crate::sys::TcpInfo;
use measure::tally::Window;
use std::os::fd::OwnedFd;
use traffic::ConnId;
use units::Duration;

/// One end.
#[derive(Debug, Default)]
pub(super) struct End {
    pub socket: Option<OwnedFd>,
    pub connected: bool,
    /// Bytes to send; `u64::MAX` never ends.
    pub to_send: u64,
    /// Bytes that the kernel has taken.
    pub taken: u64,
    /// No more will be written.
    pub closing: bool,
    /// FIN sent (or to be sent by the kernel).
    pub shut: bool,
    /// FIN received.
    pub eof: bool,
    /// epoll tells when it can be written.
    pub wants_out: bool,
    /// What the kernel counted up to the last look.
    pub counted: TcpInfo,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Conn {
    pub id: ConnId,
    pub app: usize,
    pub service: usize,
    pub row: u32,
    /// The client's port.
    pub port: u16,
    pub ends: [End; 2],
}

/// Linux' infinite slow start threshold (TCP_INFINITE_SSTHRESH).
const INFINITE: u32 = 0x7fff_ffff;

/// The sender as the kernel shows it.
pub(super) fn window(info: &TcpInfo) -> Window {
    let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
    Window {
        cwnd_bytes: bytes(info.cwnd),
        ssthresh_bytes: if info.ssthresh >= INFINITE { u64::MAX } else { bytes(info.ssthresh) },
        srtt: Duration::from_micros(u64::from(info.rtt_us)),
        model: None,
    }
}
