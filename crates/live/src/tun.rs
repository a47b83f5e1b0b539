//! A TUN device in a namespace, which connects the namespace's kernel with the bench.
//!
//! Each packet has a virtual header (IFF_VNET_HDR), and may have several segments (see `offload`).

use crate::ecn::{self, EcnUse};
use crate::namespace::Namespace;
use crate::sys::{self, IfReq, Ioctl};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum size of a packet in the bench, in bytes. The kernel's packets with several segments may be larger.
pub(crate) const MTU: usize = 1500;

/// Name of the device in each namespace.
const NAME: &str = "bl0";

/// Maximum number of packets that the kernel may hold until the bench reads them. The bench reads packets without
/// delay, so this queue stays short and is not part of the modelled queue. The limit is large enough for a burst of
/// 15 MB in packets of 1500 bytes, or for a longer burst if the packets have several segments.
const TX_QUEUE_LEN: i32 = 10_000;

/// Maximum number of polls, at intervals of 20 ms, until an IPv6 address is no longer tentative.
const POLLS: u32 = 250;

const PATH: &str = "/dev/net/tun";

/// Settings of every namespace: each is a path under /proc/sys/net and a value. With these settings, the kernel keeps
/// no metrics of earlier connections, TCP's buffers can grow to 64 MiB, any process may ping, and devices created later
/// send no router solicitations.
const SYSCTLS: &[(&str, &str)] = &[
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
    ("ipv4/tcp_wmem", "4096 65536 67108864"),
    ("ipv4/ping_group_range", "0 2147483647"),
    ("ipv6/conf/all/router_solicitations", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
];

/// An open TUN device. The kernel removes the device when this value is dropped.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

/// Adds the name of the failed set-up step to an error.
fn step<T>(what: &str, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|e| io::Error::new(e.kind(), format!("{what}: {e}")))
}

/// Replaces a permission error with an error that names the missing capability.
fn no_right(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            e.kind(),
            "this needs CAP_NET_ADMIN; run with sudo, or with --user where the kernel allows it",
        ),
        _ => e,
    }
}

impl Tun {
    /// Creates the device in `namespace`, assigns the addresses of `hosts` (10.77.x.y/16, fd77::/64) and brings it up.
    /// `ecn` decides which of the namespace's TCP connections use ECN.
    pub(crate) fn create(namespace: &Namespace, hosts: &[u16], ecn: EcnUse) -> io::Result<Self> {
        namespace.inside(|| Self::build(hosts, ecn))
    }

    fn build(hosts: &[u16], ecn: EcnUse) -> io::Result<Self> {
        crate::fault::at("tun")?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = step(PATH, rustix::fs::open(PATH, flags, Mode::empty()).map_err(io::Error::from))?;
        let file = File::from(file);
        let mut request = named(NAME);
        put(&mut request, &((libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as i16).to_ne_bytes());
        step("create the TUN device", sys::ioctl(&file, Ioctl::TUN_SET_IFF, &mut request).map_err(no_right))?;
        // if the kernel refuses the offloads, the kernel itself splits packets and computes checksums before the bench
        // reads them
        let _ = sys::set_offload(&file, libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN);
        crate::fault::at("sysctl")?;
        for (path, value) in SYSCTLS {
            // some kernels lack some of these settings, and a user namespace may not be allowed to change all of them
            let _ = std::fs::write(format!("/proc/sys/net/{path}"), value);
        }
        // the value 1 makes TCP request and accept ECN; with 0, TCP does neither, except for marked sockets (see `ecn`)
        let _ = std::fs::write("/proc/sys/net/ipv4/tcp_ecn", if ecn == EcnUse::Always { "1" } else { "0" });
        crate::fault::at("address")?;
        let control = step("open a socket", UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
        let control = control.as_fd();
        step("set the MTU", set(control, NAME, Ioctl::SET_MTU, &(MTU as i32).to_ne_bytes()))?;
        // the kernel does not allow this ioctl in a user namespace; there, the queue keeps its default limit of 500
        // packets
        let _ = set(control, NAME, Ioctl::SET_TX_QUEUE_LEN, &TX_QUEUE_LEN.to_ne_bytes());
        for (i, host) in hosts.iter().enumerate() {
            let label = if i == 0 { NAME.to_owned() } else { format!("{NAME}:{i}") };
            step("set an address", set(control, &label, Ioctl::SET_ADDR, &sockaddr(v4(*host))))?;
            step("set a netmask", set(control, &label, Ioctl::SET_NETMASK, &sockaddr(Ipv4Addr::new(255, 255, 0, 0))))?;
        }
        crate::fault::at("up")?;
        for name in ["lo", NAME] {
            step("bring the interface up", up(control, name))?;
        }
        let index = step("find the interface", index(control))?;
        if ecn == EcnUse::Sometimes {
            let what = "give ECN to some stacks only (this needs policy routing, CONFIG_IP_MULTIPLE_TABLES)";
            step(what, ecn::for_marked(index, v4(0).octets(), 16))?;
        }
        if std::path::Path::new("/proc/sys/net/ipv6").exists() {
            step("set an IPv6 address", ipv6(index, hosts))?;
        }
        Ok(Self { file })
    }

    /// Reads the next packet from the kernel, with its virtual header; `None` if no packet is waiting. The packet may
    /// have several segments.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(n) => Ok(Some(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Passes a packet, which begins with its virtual header, to the kernel. Returns false if the kernel does not
    /// accept the packet.
    pub(crate) fn write(&self, packet: &[u8]) -> bool {
        (&self.file).write(packet).is_ok()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Checks that a device can be opened.   Errors: the driver or the permission is missing; the message names a remedy.
pub(crate) fn available() -> Result<(), String> {
    match std::fs::OpenOptions::new().read(true).write(true).open(PATH) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound || is_without_driver(&e) => {
            Err(format!("{PATH}: the kernel's TUN driver is missing (modprobe tun, CONFIG_TUN)"))
        }
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Err(format!(
            "{PATH}: no permission to open it; run with sudo, or make it accessible to users (chmod 666, as most systems do)"
        )),
        Err(e) => Err(format!("{PATH}: {e}")),
    }
}

/// Returns true if a node in /dev could not be opened because the kernel has no driver for it.
fn is_without_driver(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO))
}

/// Returns the IPv4 address of host number `host`, counted from 1.
pub(crate) fn v4(host: u16) -> Ipv4Addr {
    let [high, low] = host.to_be_bytes();
    Ipv4Addr::new(10, 77, high, low)
}

/// Returns the IPv6 address of host number `host`, counted from 1.
pub(crate) fn v6(host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host)
}

fn named(name: &str) -> IfReq {
    let mut request = [0; 40];
    request[..name.len()].copy_from_slice(name.as_bytes());
    request
}

/// Writes a value into the request's union, which follows the name.
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
    sys::ioctl(control, Ioctl::GET_FLAGS, &mut request)?;
    let flags = i16::from_ne_bytes([request[16], request[17]]) | libc::IFF_UP as i16;
    set(control, name, Ioctl::SET_FLAGS, &flags.to_ne_bytes())
}

/// Returns the first 8 bytes of a `struct sockaddr_in` with port 0; the other 8 bytes are always zero.
fn sockaddr(address: Ipv4Addr) -> [u8; 8] {
    let [a, b] = (libc::AF_INET as u16).to_ne_bytes();
    let [w, x, y, z] = address.octets();
    [a, b, 0, 0, w, x, y, z]
}

/// Returns the interface index of the device.
fn index(control: BorrowedFd<'_>) -> io::Result<u32> {
    let mut request = named(NAME);
    sys::ioctl(control, Ioctl::GET_INDEX, &mut request)?;
    Ok(u32::from_ne_bytes([request[16], request[17], request[18], request[19]]))
}

/// Assigns IPv6 addresses. The kernel does not look for duplicates of these addresses, because TUN devices have
/// IFF_NOARP and thus do not take part in neighbour discovery.
fn ipv6(index: u32, hosts: &[u16]) -> io::Result<()> {
    let control = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
    for host in hosts {
        // fields of struct in6_ifreq: address, prefix length, interface
        let mut request: IfReq = [0; 40];
        request[..16].copy_from_slice(&v6(*host).octets());
        request[16..20].copy_from_slice(&64u32.to_ne_bytes());
        request[20..24].copy_from_slice(&index.to_ne_bytes());
        sys::ioctl(&control, Ioctl::SET_ADDR, &mut request)?;
    }
    hosts.iter().try_for_each(|host| usable(v6(*host)))
}

/// Waits until an address is usable. Even without duplicate address detection, an address is tentative until a kernel
/// thread has processed it. This takes a few milliseconds on a busy machine. No socket can listen on a tentative
/// address.
///
/// Bound: [`POLLS`] polls of 20 ms.
fn usable(address: Ipv6Addr) -> io::Result<()> {
    for _ in 0..POLLS {
        match UdpSocket::bind((address, 0)) {
            Err(e) if e.kind() == io::ErrorKind::AddrNotAvailable => crate::clock::pause(),
            answer => return answer.map(drop),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("{address} is still tentative")))
}
