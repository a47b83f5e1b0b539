//! What each namespace saw, as a capture file.
//!
//! Classic pcap with nanosecond stamps (magic 0xa1b23c4d), link type 101 (raw IP). A packet stands in the file of a side at
//! the moment when that side's kernel handed it to the bench, or got it from the bench. Files are written by a thread of
//! their own, so that a slow disk delays no packet.
//!
//! Source: draft-ietf-opsawg-pcap; tcpdump.org link types.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Bytes that are handed to the writing thread at once.
const CHUNK: usize = 256 * 1024;

const LINKTYPE_RAW: u32 = 101;

/// One capture file.
#[derive(Debug)]
pub struct Pcap {
    chunk: Vec<u8>,
    full: Option<Sender<Vec<u8>>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Pcap {
    /// Creates the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        let mut head = Vec::with_capacity(CHUNK);
        head.extend(0xa1b2_3c4d_u32.to_le_bytes());
        head.extend(2u16.to_le_bytes());
        head.extend(4u16.to_le_bytes());
        head.extend([0; 8]);
        head.extend(65_535u32.to_le_bytes());
        head.extend(LINKTYPE_RAW.to_le_bytes());
        let (full, chunks) = channel::<Vec<u8>>();
        let writer = std::thread::Builder::new().name("bloatlab-pcap".into()).spawn(move || {
            for chunk in chunks {
                file.write_all(&chunk)?;
            }
            file.flush()
        })?;
        Ok(Self { chunk: head, full: Some(full), writer: Some(writer) })
    }

    /// A packet at `ns` since 1970.
    pub fn put(&mut self, ns: u64, packet: &[u8]) {
        let length = (packet.len() as u32).to_le_bytes();
        self.chunk.extend(((ns / 1_000_000_000) as u32).to_le_bytes());
        self.chunk.extend(((ns % 1_000_000_000) as u32).to_le_bytes());
        self.chunk.extend(length);
        self.chunk.extend(length);
        self.chunk.extend(packet);
        if self.chunk.len() >= CHUNK {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        if let Some(full) = &self.full {
            // the writer is gone only after an error of its own, which `finish` reports
            let _ = full.send(chunk);
        }
    }

    /// Writes what is left.   Errors: the first that the writing thread met.
    pub fn finish(mut self) -> io::Result<()> {
        self.hand_over();
        self.full = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the capture's thread panicked")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_as_the_format_says() {
        let path = std::env::temp_dir().join(format!("bloatlab-pcap-{}", std::process::id()));
        let mut p = Pcap::create(&path).unwrap();
        p.put(1_500_000_007, &[0x45, 1, 2]);
        p.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes.len(), 24 + 16 + 3);
        assert_eq!(bytes[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        assert_eq!((bytes[20], &bytes[24..32]), (101, &[1, 0, 0, 0, 0x07, 0x65, 0xcd, 0x1d][..]));
        assert_eq!(&bytes[40..], [0x45, 1, 2]);
    }
}
