//! Anonymous network namespaces, which the kernel removes when they are no longer in use.
//!
//! A namespace has no name in the file system. It exists as long as this process holds its descriptor or a command runs
//! in it. After that, the kernel removes the namespace with all its interfaces, addresses and routes, even if the
//! process was killed by `kill -9`. The host's own namespace is never changed.

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

#[derive(Debug)]
pub(crate) struct Namespace {
    file: File,
}

impl Namespace {
    /// Creates an empty namespace.   Errors: no CAP_SYS_ADMIN (EPERM), too many namespaces (ENOSPC).
    #[allow(unsafe_code, reason = "rustix marks unshare unsafe because of CLONE_FILES, which is not used here")]
    pub(crate) fn new() -> io::Result<Self> {
        on_thread(|| {
            // SAFETY: NEWNET moves only this thread, which ends immediately afterwards, to another network namespace. No memory
            // and no descriptors are unshared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET)? };
            Ok(Self { file: File::open("/proc/thread-self/ns/net")? })
        })
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()? })
    }

    /// Moves the calling thread into this namespace permanently.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Calls the function `act` on a new thread inside this namespace, and returns the function's result.
    pub(crate) fn inside<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_thread(|| {
            self.enter()?;
            act()
        })
    }

    /// Returns the inode of the namespace, as shown by `/proc/PID/ns/net` for a process in the namespace.
    pub(crate) fn inode(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.ino())
    }
}

fn on_thread<T: Send>(act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    // a panic in the thread becomes a panic of the caller
    std::thread::scope(|s| s.spawn(act).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}
