//! A TUN device in a namespace: the cable between its kernel and the bench.
//!
//! IFF_TUN | IFF_NO_PI without a virtual header: the kernel segments before it hands packets over (no offload), so every
//! packet is at most the MTU.

use crate::space::Space;
use crate::sys::{self, IfReq, Ioctl};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of the largest packet.
pub(crate) const MTU: usize = 1500;

/// Name of the device in each namespace.
const NAME: &str = "bl0";

/// Packets that the kernel may hold until the bench reads them. The bench reads them at once; this is no part of the
/// modelled queue, and large enough for a burst of a whole receive window (6 MB).
const TX_QUEUE_LEN: i32 = 10_000;

/// How long an IPv6 address may be tentative, in looks of 20 ms.
const LOOKS: u32 = 250;

const PATH: &str = "/dev/net/tun";

/// What every namespace of the bench is set to, path under /proc/sys/net and value: measurements must not remember earlier
/// connections, buffers must not limit before the queue does, and any process may ping.
const SYSCTLS: &[(&str, &str)] = &[
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
    ("ipv4/tcp_wmem", "4096 65536 67108864"),
    ("ipv4/ping_group_range", "0 2147483647"),
    ("ipv6/conf/all/router_solicitations", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
];

/// An open TUN device; it vanishes when this is dropped.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

/// The step of setting up a side that failed, for the message.
fn step<T>(what: &str, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|e| io::Error::new(e.kind(), format!("{what}: {e}")))
}

/// A missing right by its name.
fn no_right(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::PermissionDenied => {
            io::Error::new(e.kind(), "it takes CAP_NET_ADMIN; run with sudo, or with --user where the kernel allows it")
        }
        _ => e,
    }
}

impl Tun {
    /// Makes the device in `space`, gives it the addresses of `hosts` (10.77.x.y/16, fd77::/64) and brings it up.
    /// `ecn` lets the namespace's TCP ask for ECN.
    pub(crate) fn create(space: &Space, hosts: &[u16], ecn: bool) -> io::Result<Self> {
        space.inside(|| Self::build(hosts, ecn))
    }

    fn build(hosts: &[u16], ecn: bool) -> io::Result<Self> {
        crate::fault::at("tun")?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = step(PATH, rustix::fs::open(PATH, flags, Mode::empty()).map_err(io::Error::from))?;
        let file = File::from(file);
        let mut request = named(NAME);
        put(&mut request, &(libc::IFF_TUN as i16 | libc::IFF_NO_PI as i16).to_ne_bytes());
        step("make the TUN device", sys::ioctl(&file, Ioctl::TunSetIff, &mut request).map_err(no_right))?;
        crate::fault::at("sysctl")?;
        for (path, value) in SYSCTLS {
            // a kernel built without one of them has nothing to set
            let _ = std::fs::write(format!("/proc/sys/net/{path}"), value);
        }
        // 1: ask and answer; 0: neither
        let _ = std::fs::write("/proc/sys/net/ipv4/tcp_ecn", if ecn { "1" } else { "0" });
        crate::fault::at("address")?;
        let control = step("open a socket", UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
        let control = control.as_fd();
        step("set the MTU", set(control, NAME, Ioctl::SetMtu, &(MTU as i32).to_ne_bytes()))?;
        // in a user namespace the kernel does not allow it, and its default of 500 packets stays
        let _ = set(control, NAME, Ioctl::SetTxQueueLen, &TX_QUEUE_LEN.to_ne_bytes());
        for (i, host) in hosts.iter().enumerate() {
            let label = if i == 0 { NAME.to_owned() } else { format!("{NAME}:{i}") };
            step("set an address", set(control, &label, Ioctl::SetAddr, &sockaddr(v4(*host))))?;
            step("set a netmask", set(control, &label, Ioctl::SetNetmask, &sockaddr(Ipv4Addr::new(255, 255, 0, 0))))?;
        }
        crate::fault::at("up")?;
        for name in ["lo", NAME] {
            step("bring the interface up", up(control, name))?;
        }
        if std::path::Path::new("/proc/sys/net/ipv6").exists() {
            step("set an IPv6 address", ipv6(control, hosts))?;
        }
        Ok(Self { file })
    }

    /// The next packet from the kernel, if there is one.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(n) => Ok(Some(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Gives a packet to the kernel; false if it does not want it.
    pub(crate) fn write(&self, packet: &[u8]) -> bool {
        (&self.file).write(packet).is_ok()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether a device could be opened.   Errors: what is missing, and what would help.
pub(crate) fn available() -> Result<(), String> {
    match std::fs::OpenOptions::new().read(true).write(true).open(PATH) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound || is_without_driver(&e) => {
            Err(format!("{PATH}: the kernel's TUN driver is missing (modprobe tun, CONFIG_TUN)"))
        }
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Err(format!(
            "{PATH}: no right to open it; run with sudo, or let users have it (chmod 666, as most systems do)"
        )),
        Err(e) => Err(format!("{PATH}: {e}")),
    }
}

/// A node in /dev whose driver is not in the kernel.
fn is_without_driver(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO))
}

/// IPv4 address of host number `host`, counted from 1.
pub(crate) fn v4(host: u16) -> Ipv4Addr {
    let [high, low] = host.to_be_bytes();
    Ipv4Addr::new(10, 77, high, low)
}

/// IPv6 address of host number `host`, counted from 1.
pub(crate) fn v6(host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host)
}

fn named(name: &str) -> IfReq {
    let mut request = [0; 40];
    request[..name.len()].copy_from_slice(name.as_bytes());
    request
}

/// Writes into the union behind the name.
fn put(request: &mut IfReq, value: &[u8]) {
    request[16..16 + value.len()].copy_from_slice(value);
}

fn set(control: BorrowedFd<'_>, name: &str, what: Ioctl, value: &[u8]) -> io::Result<()> {
    let mut request = named(name);
    put(&mut request, value);
    sys::ioctl(control, what, &mut request)
}

fn up(control: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = named(name);
    sys::ioctl(control, Ioctl::GetFlags, &mut request)?;
    let flags = i16::from_ne_bytes([request[16], request[17]]) | libc::IFF_UP as i16;
    set(control, name, Ioctl::SetFlags, &flags.to_ne_bytes())
}

/// `struct sockaddr_in` without a port.
fn sockaddr(address: Ipv4Addr) -> [u8; 8] {
    let [a, b] = (libc::AF_INET as u16).to_ne_bytes();
    let [w, x, y, z] = address.octets();
    [a, b, 0, 0, w, x, y, z]
}

/// TUN devices do not answer neighbour solicitations (IFF_NOARP), so duplicate address detection does not happen.
fn ipv6(control: BorrowedFd<'_>, hosts: &[u16]) -> io::Result<()> {
    let mut request = named(NAME);
    sys::ioctl(control, Ioctl::GetIndex, &mut request)?;
    let index = [request[16], request[17], request[18], request[19]];
    let control = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
    for host in hosts {
        // struct in6_ifreq: address, prefix length, interface
        let mut request: IfReq = [0; 40];
        request[..16].copy_from_slice(&v6(*host).octets());
        request[16..20].copy_from_slice(&64u32.to_ne_bytes());
        request[20..24].copy_from_slice(&index);
        sys::ioctl(&control, Ioctl::SetAddr, &mut request)?;
    }
    hosts.iter().try_for_each(|host| usable(v6(*host)))
}

/// Waits until an address may be used. It is tentative until the kernel's own thread, on a busy machine some milliseconds
/// later, has found that there is nobody to ask for duplicates; until then nothing can listen on it.
///
/// Bound: [`LOOKS`] looks of 20 ms.
fn usable(address: Ipv6Addr) -> io::Result<()> {
    for _ in 0..LOOKS {
        match UdpSocket::bind((address, 0)) {
            Err(e) if e.kind() == io::ErrorKind::AddrNotAvailable => crate::clock::pause(),
            answer => return answer.map(drop),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("{address} is still tentative")))
}
