//! Builds real packets between numbered hosts, for testing the bench on a fake clock.

use crate::tun;
#[cfg(test)]
use packet::craft::Tcp;
use packet::craft::{self, Ip};

fn ip(v6: bool, src: u16, dst: u16, tos: u8) -> Ip {
    if v6 {
        Ip { src: tun::v6(src).into(), dst: tun::v6(dst).into(), tos }
    } else {
        Ip { src: tun::v4(src).into(), dst: tun::v4(dst).into(), tos }
    }
}

/// Builds a UDP datagram of `size` bytes, headers included, from host `src` to host `dst`.
pub fn udp(v6: bool, src: u16, dst: u16, ports: (u16, u16), size: usize, tos: u8) -> Vec<u8> {
    let mut out = Vec::new();
    craft::udp(&mut out, ip(v6, src, dst, tos), ports, size - if v6 { 48 } else { 28 });
    out
}

/// Builds a TCP segment from host `src` to host `dst` with `payload` bytes of zeros.
#[cfg(test)]
pub(crate) fn tcp(v6: bool, src: u16, dst: u16, header: &Tcp<'_>, payload: usize) -> Vec<u8> {
    let mut out = Vec::new();
    craft::tcp(&mut out, ip(v6, src, dst, 0), header, payload);
    out
}
