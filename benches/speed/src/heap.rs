//! Counts the bytes that a program has allocated and not freed. The count is exact, and the same in every run.
//!
//! Resident memory would be less exact: it also includes unused parts of pages and the allocator's spare capacity, and
//! differs by a tenth between runs of the same program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Returns the currently allocated bytes.
pub(crate) fn live() -> usize {
    LIVE.load(Relaxed)
}

/// The system's allocator with a counter. The benchmark has only one thread, so the counter needs no atomic addition: a
/// plain load and a plain store are enough, and cost almost nothing.
pub(crate) struct Counting;

fn count(more: usize, less: usize) {
    LIVE.store(LIVE.load(Relaxed).wrapping_add(more).wrapping_sub(less), Relaxed);
}

// SAFETY: every call is forwarded unchanged, and counting does not affect it.
#[allow(unsafe_code, reason = "an allocator is unsafe by its signature")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.realloc(place, layout, size) }
    }
}
