//! Network namespaces of our own: anonymous, so that the kernel takes them away with their last user.
//!
//! A namespace here has no name in the file system. It lives as long as this process holds its descriptor or a command
//! runs in it, and then it is gone, with every interface, address and route in it: after a normal end as after `kill -9`.
//! Nothing of the host's own namespace is touched at any time.

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Space {
    file: File,
}

impl Space {
    /// A new, empty namespace.   Errors: no CAP_SYS_ADMIN (EPERM), too many namespaces (ENOSPC).
    #[allow(unsafe_code, reason = "rustix marks unshare unsafe for the sake of CLONE_FILES, which is not used here")]
    pub(crate) fn new() -> io::Result<Self> {
        on_thread(|| {
            // SAFETY: NEWNET gives this thread, which ends right after, another network namespace and unshares no memory
            // or descriptors.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET)? };
            Ok(Self { file: File::open("/proc/thread-self/ns/net")? })
        })
    }

    /// Another handle on the same namespace.
    pub(crate) fn again(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()? })
    }

    /// Moves the calling thread into this namespace for good.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// What `act` returns on a thread of its own inside this namespace.
    pub(crate) fn inside<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_thread(|| {
            self.enter()?;
            act()
        })
    }

    /// The namespace's inode: what `/proc/PID/ns/net` of a process in it shows.
    pub(crate) fn inode(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.ino())
    }
}

fn on_thread<T: Send>(act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    // a panic there is a panic here
    std::thread::scope(|s| s.spawn(act).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}
