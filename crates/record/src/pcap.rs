//! Capture files: classic pcap with time stamps in nanoseconds (magic 0xa1b23c4d) and link type 101 (packets begin with their IP
//! header).
//!
//! Source: draft-ietf-opsawg-pcap; tcpdump.org, link-layer header types.

use std::io::{self, Write};

const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: (u16, u16) = (2, 4);
const LINKTYPE_RAW: u32 = 101;

/// Snap length that keeps every packet whole.
pub const WHOLE: u32 = 65_535;

/// A capture-file writer.
#[derive(Debug)]
pub struct Pcap<W: Write> {
    to: W,
    /// Maximum number of bytes kept of each packet.
    snap: u32,
}

impl<W: Write> Pcap<W> {
    /// Writes the file header. At most `snap` bytes of each packet are kept.
    pub fn new(mut to: W, snap: u32) -> io::Result<Self> {
        to.write_all(&MAGIC.to_le_bytes())?;
        to.write_all(&VERSION.0.to_le_bytes())?;
        to.write_all(&VERSION.1.to_le_bytes())?;
        // time zone and accuracy, which are always zero in practice
        to.write_all(&[0; 8])?;
        to.write_all(&snap.to_le_bytes())?;
        to.write_all(&LINKTYPE_RAW.to_le_bytes())?;
        Ok(Self { to, snap })
    }

    /// Writes a packet that was captured `ns` nanoseconds after the start of 1970 (the Unix epoch).
    pub fn put(&mut self, ns: u64, packet: &[u8]) -> io::Result<()> {
        let kept = &packet[..packet.len().min(self.snap as usize)];
        let mut head = [0; 16];
        head[0..4].copy_from_slice(&((ns / 1_000_000_000) as u32).to_le_bytes());
        head[4..8].copy_from_slice(&((ns % 1_000_000_000) as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(kept.len() as u32).to_le_bytes());
        head[12..16].copy_from_slice(&(packet.len() as u32).to_le_bytes());
        self.to.write_all(&head)?;
        self.to.write_all(kept)
    }

    /// Flushes and returns the underlying writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_file() {
        let mut p = Pcap::new(Vec::new(), 3).unwrap();
        p.put(1_500_000_007, &[0x45, 1, 2, 3, 4]).unwrap();
        p.put(0, &[0x60]).unwrap();
        let bytes = p.finish().unwrap();
        assert_eq!(bytes.len(), 24 + 16 + 3 + 16 + 1);
        assert_eq!(bytes[..8], [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0]);
        assert_eq!((bytes[16], bytes[20]), (3, 101));
        // the packet's header: 1 s, 500 000 007 ns (0x1dcd6507), 3 bytes kept of 5
        assert_eq!(bytes[24..40], [1, 0, 0, 0, 0x07, 0x65, 0xcd, 0x1d, 3, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!((&bytes[40..43], bytes[59]), (&[0x45, 1, 2][..], 0x60));
    }
}
