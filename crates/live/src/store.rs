//! The bytes of the packets in the bench, by index. A slot is freed when its packet is delivered or dropped.

use crate::tun::MTU;

#[derive(Clone, Debug)]
struct Body {
    bytes: Box<[u8; MTU]>,
    length: u16,
    used: bool,
}

/// Slots for packets. A slot is added only if no slot is free, and slots are never removed. So the number of slots is
/// the maximum number of packets that have been in the bench at the same time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    bodies: Vec<Body>,
    free: Vec<u32>,
}

impl Store {
    /// Stores a copy of `packet`, which is at most [`MTU`] bytes long; returns its index.
    pub(crate) fn put(&mut self, packet: &[u8]) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.bodies.push(Body { bytes: Box::new([0; MTU]), length: 0, used: false });
            (self.bodies.len() - 1) as u32
        });
        let body = &mut self.bodies[index as usize];
        let length = packet.len().min(MTU);
        body.bytes[..length].copy_from_slice(&packet[..length]);
        (body.length, body.used) = (length as u16, true);
        index
    }

    /// Returns the bytes of a packet in the bench.
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut [u8] {
        let body = &mut self.bodies[index as usize];
        assert!(body.used, "a packet's bytes may be read only while the packet is inside");
        &mut body.bytes[..usize::from(body.length)]
    }

    /// Frees the slot of a packet. Panics if the slot is already free, because a packet is delivered or dropped only
    /// once.
    pub(crate) fn free(&mut self, index: u32) {
        let body = &mut self.bodies[index as usize];
        assert!(std::mem::take(&mut body.used), "a packet has one fate");
        self.free.push(index);
    }

    /// Returns the number of packets in the bench.
    pub(crate) fn len(&self) -> usize {
        self.bodies.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused_and_keep_their_bytes() {
        let mut s = Store::default();
        let (a, b) = (s.put(b"abc"), s.put(b"de"));
        assert_eq!((s.get_mut(a).to_vec(), s.get_mut(b).len(), s.len()), (b"abc".to_vec(), 2, 2));
        s.free(a);
        assert_eq!(s.put(b"f"), a);
        s.free(a);
        s.free(b);
        assert!(s.len() == 0);
    }

    #[test]
    #[should_panic(expected = "one fate")]
    fn two_fates_are_a_bug() {
        let mut s = Store::default();
        let a = s.put(b"a");
        s.free(a);
        s.free(a);
    }
}
