//! Limit on the memory that an input may use: an allocator counts bytes. ([`crate::engine`] limits the time.)
#![allow(unsafe_code, reason = "an allocator that counts bytes needs unsafe code")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Maximum number of live bytes in the process, far above what any target needs.
pub const MOST_BYTES: usize = 3 << 30;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static OVER: AtomicBool = AtomicBool::new(false);

/// The system's allocator, with a count of live bytes and their peak.
pub struct Counting;

// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller fulfils the same contract
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller fulfils the same contract; the system's zero pages cost nothing until they are touched
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        count(size);
        // SAFETY: the caller fulfils the same contract
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller fulfils the same contract
        unsafe { System.dealloc(at, layout) }
    }
}

fn count(size: usize) {
    let live = LIVE.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(live, Relaxed);
    if live > MOST_BYTES && !OVER.swap(true, Relaxed) {
        crate::engine::give_up(&format!("an input allocates more than {MOST_BYTES} bytes"));
    }
}

/// Returns the number of live bytes, and sets the peak to this number.
pub fn mark() -> usize {
    let live = LIVE.load(Relaxed);
    PEAK.store(live, Relaxed);
    live
}

/// Returns how far the peak of live bytes exceeds `mark`, the number of live bytes returned by the function `mark()`.
pub fn peak_above(mark: usize) -> usize {
    PEAK.load(Relaxed).saturating_sub(mark)
}
