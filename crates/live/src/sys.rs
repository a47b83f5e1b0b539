//! System calls without a safe wrapper: interface and TUN ioctls, TCP_INFO, socket options, real-time scheduling.
//!
//! All other system calls go through `rustix` and `std`.

#![allow(unsafe_code, reason = "ioctl(2), getsockopt(TCP_INFO) and sched_setscheduler(2) have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `struct ifreq` of 64-bit Linux: a name of 16 bytes and a union of 24 bytes. The array is also large enough for
/// `struct in6_ifreq` (24 bytes).
pub(crate) type IfReq = [u8; 40];

/// An ioctl whose argument is an `ifreq` or `in6_ifreq`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ioctl(libc::Ioctl);

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_truncation,
    reason = "glibc has these numbers as u64, musl as i32"
)]
impl Ioctl {
    /// Attaches a TUN device to a descriptor.
    pub(crate) const TUN_SET_IFF: Self = Self(libc::TUNSETIFF as libc::Ioctl);
    pub(crate) const GET_FLAGS: Self = Self(libc::SIOCGIFFLAGS as libc::Ioctl);
    pub(crate) const SET_FLAGS: Self = Self(libc::SIOCSIFFLAGS as libc::Ioctl);
    pub(crate) const SET_ADDR: Self = Self(libc::SIOCSIFADDR as libc::Ioctl);
    pub(crate) const SET_NETMASK: Self = Self(libc::SIOCSIFNETMASK as libc::Ioctl);
    pub(crate) const SET_MTU: Self = Self(libc::SIOCSIFMTU as libc::Ioctl);
    pub(crate) const SET_TX_QUEUE_LEN: Self = Self(libc::SIOCSIFTXQLEN as libc::Ioctl);
    pub(crate) const GET_INDEX: Self = Self(libc::SIOCGIFINDEX as libc::Ioctl);
}

/// Performs one ioctl, which may read and write `request`.
pub(crate) fn ioctl(fd: impl AsFd, what: Ioctl, request: &mut IfReq) -> io::Result<()> {
    // SAFETY: every request of `Ioctl` reads and writes at most 40 bytes at the pointer, the size of `IfReq`; the pointer is
    // valid for the call and the kernel keeps no reference to it.
    let answer = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), what.0, request.as_mut_ptr()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Declares which offloads the owner of a TUN device supports (TUN_F_CSUM and others).
///
/// Errors: the kernel lacks the ioctl or one of the offloads.
pub(crate) fn set_offload(fd: impl AsFd, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value and touches no memory.
    let answer = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The kernel's report on the sender of a TCP connection.
///
/// Source: `struct tcp_info` of linux/tcp.h; fields that the running kernel lacks are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Maximum payload of a segment to send, in bytes.
    pub mss: u32,
    /// Smoothed round-trip time, us; 0 before the first sample.
    pub rtt_us: u32,
    /// Slow start threshold, segments; 0x7fffffff means infinite.
    pub ssthresh: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
    /// Bytes that the socket has accepted but not yet sent (kernel 4.6 and later).
    pub unsent: u32,
    /// Segments acknowledged by ACKs that report congestion (kernel 4.18 and later).
    pub delivered_ce: u32,
    /// Retransmission timeouts (kernel 6.7 and later).
    pub timeouts: u32,
}

/// Returns two properties of the running kernel: true if its `tcp_info` has `delivered_ce` (4.18 and later), and true
/// if it has `timeouts` (6.7 and later).
pub(crate) fn counts_marks_and_timeouts() -> [bool; 2] {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
    let length = socket.map_err(io::Error::from).and_then(raw_tcp_info).map_or(0, |(_, length)| length);
    [length >= DELIVERED_CE + 4, length >= TOTAL_RTO + 2]
}

/// Offset of `tcpi_delivered_ce` in `struct tcp_info`.
const DELIVERED_CE: usize = 196;
/// Offset of `tcpi_total_rto` in `struct tcp_info`.
const TOTAL_RTO: usize = 240;

/// Reads the kernel's report with `getsockopt(TCP_INFO)`.
pub(crate) fn tcp_info(fd: impl AsFd) -> io::Result<TcpInfo> {
    let (raw, _) = raw_tcp_info(fd)?;
    let u32_at = |at: usize| u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
    Ok(TcpInfo {
        mss: u32_at(16),
        rtt_us: u32_at(68),
        ssthresh: u32_at(76),
        cwnd: u32_at(80),
        retransmits: u32_at(100),
        unsent: u32_at(144),
        delivered_ce: u32_at(DELIVERED_CE),
        timeouts: u32::from(u16::from_ne_bytes([raw[TOTAL_RTO], raw[TOTAL_RTO + 1]])),
    })
}

/// Sets TCP_NOTSENT_LOWAT: the kernel reports a socket as writable only while fewer than half of `bytes` bytes are
/// unsent.
///
/// During a write, the kernel compares the unsent bytes with the limit only when it begins a new buffer, and then fills
/// this buffer, which may hold 64 KB. So the writer has to keep to the limit itself.
pub(crate) fn set_notsent_lowat(fd: impl AsFd, bytes: u32) -> io::Result<()> {
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Sets the mark of a socket's packets, by which routing rules can select the packets.
///
/// Errors: neither CAP_NET_ADMIN nor (from kernel 5.17) CAP_NET_RAW.
pub(crate) fn set_mark(fd: impl AsFd, mark: u32) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_MARK, mark)
}

fn set_option(fd: impl AsFd, level: libc::c_int, name: libc::c_int, value: u32) -> io::Result<()> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one u32; `value` is valid for the call.
    let answer =
        unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), size_of::<u32>() as libc::socklen_t) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the `struct tcp_info` that the kernel wrote, and its length in bytes; the bytes beyond that length are zero.
fn raw_tcp_info(fd: impl AsFd) -> io::Result<([u8; 256], usize)> {
    let mut raw = [0u8; 256];
    let mut len = raw.len() as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `len` bytes to `raw`, which has this size, and stores their number in `len`.
    let answer =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, raw.as_mut_ptr().cast(), &raw mut len) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((raw, len as usize))
}

/// Makes the calling thread real-time (SCHED_FIFO, lowest priority).   Errors: no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0.
pub(crate) fn real_time() -> io::Result<()> {
    // SAFETY: `sched_param` consists of integers, for which zero is valid.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    // SAFETY: pid 0 is the calling thread; `param` is valid for the call.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the calling thread's timer slack to 1 ns instead of 50 us.
pub(crate) fn sharp_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Spawns `command` so that it is killed when the calling thread ends.
pub(crate) fn spawn_bound(command: &mut std::process::Command) -> io::Result<std::process::Child> {
    use std::os::unix::process::CommandExt;
    let owner = rustix::process::getpid();
    // SAFETY: between fork and exec the closure makes two system calls, which are async-signal-safe, and allocates
    // nothing.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // the owner may have died after the fork, but before the call above; the kernel then sends no signal
            if rustix::process::getppid() == Some(owner) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
        });
    }
    command.spawn()
}
