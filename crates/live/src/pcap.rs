//! Writes the packets of each namespace to a capture file.
//!
//! The time stamp of a packet that enters the bench is the time at which the kernel passed the packet to the bench. The
//! time stamp of a packet that leaves the bench is the time at which the packet left. Each file is written by a
//! separate thread, so that a slow disk delays no packet.

use record::pcap::{Pcap, WHOLE};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Size at which a chunk is passed to the writing thread, in bytes.
const CHUNK: usize = 256 * 1024;

pub(crate) type Capture = Pcap<BackgroundFile>;

pub(crate) fn create(path: &Path) -> io::Result<Capture> {
    Pcap::new(BackgroundFile::create(path)?, WHOLE)
}

/// A file that a background thread writes, so that its `write` never waits and never fails.
#[derive(Debug)]
pub(crate) struct BackgroundFile {
    chunk: Vec<u8>,
    full: Option<Sender<Vec<u8>>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl BackgroundFile {
    fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        let (full, chunks) = channel::<Vec<u8>>();
        let writer = std::thread::Builder::new().name("bloatlab-pcap".into()).spawn(move || {
            for chunk in chunks {
                file.write_all(&chunk)?;
            }
            file.flush()
        })?;
        Ok(Self { chunk: Vec::with_capacity(CHUNK), full: Some(full), writer: Some(writer) })
    }

    fn hand_over(&mut self) {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        if let Some(full) = &self.full {
            // sending fails only if the writing thread has ended with an error, which `finish` reports
            let _ = full.send(chunk);
        }
    }

    /// Waits until all bytes are written.   Errors: the first error of the writing thread.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.hand_over();
        self.full = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the capture's thread panicked")),
            None => Ok(()),
        }
    }
}

impl Write for BackgroundFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend(bytes);
        if self.chunk.len() >= CHUNK {
            self.hand_over();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_the_file_when_it_is_finished() {
        let path = std::env::temp_dir().join(format!("bloatlab-pcap-{}", std::process::id()));
        let mut p = create(&path).unwrap();
        for i in 0..1000 {
            p.put(i, &[0x45; 1000]).unwrap();
        }
        p.finish().and_then(BackgroundFile::finish).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(length, 24 + 1000 * 1016);
    }
}
