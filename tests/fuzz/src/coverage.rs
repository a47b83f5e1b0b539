//! The compiler's coverage counters: one byte for each edge in the program.
//!
//! They exist only in a build with `-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=3 -C
//! llvm-args=-sanitizer-coverage-inline-8bit-counters`, in which each module registers its counters before `main`.
//!
//! Source: Clang, SanitizerCoverage, "Inline 8bit-counters"; buckets of counts as in AFL.
#![allow(unsafe_code, reason = "the counters are the compiler's")]

use std::sync::Mutex;

/// Start and length of each module's counters.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Registers the counters of a module. Code that the compiler generates calls this function before `main`.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let (start, stop) = (start.addr(), stop.addr());
    if let Ok(mut all) = COUNTERS.lock()
        && stop > start
        && !all.iter().any(|c| c.0 == start)
    {
        all.push((start, stop - start));
    }
}

/// Number of counters compared at a time.
const WORD: usize = 16;

/// The edges reached so far. `seen` has a byte for each edge, with one bit for each range of counts ("bucket") that the
/// edge has had: 1, 2, 3, 4-7, 8-15, 16-31, 32-127 and 128-255.
#[derive(Debug, Default)]
pub struct Reached {
    seen: Vec<u8>,
    edges: usize,
}

impl Reached {
    /// Returns the number of edges reached at least once.
    pub const fn edges(&self) -> usize {
        self.edges
    }

    /// Reads and resets the counters. Returns true if the count of any edge is in a bucket that is new for that edge.
    pub fn take(&mut self) -> bool {
        let mut new = false;
        let mut at = 0;
        let counters = COUNTERS.lock().map(|c| c.clone()).unwrap_or_default();
        for (start, len) in counters {
            self.seen.resize(self.seen.len().max(at + len), 0);
            let first: *mut u8 = std::ptr::with_exposed_provenance_mut(start);
            // SAFETY: the counters belong to the module and live as long as the program. Other threads may count at the
            // same time, but only the counts of code that this thread runs matter, and a count corrupted by such a race
            // can at worst cause a wrong decision about keeping an input
            let bytes = unsafe { std::slice::from_raw_parts_mut(first, len) };
            // most inputs do not reach most edges, so whole words of zeros are skipped
            for (counts, seen) in bytes.chunks_mut(WORD).zip(self.seen[at..at + len].chunks_mut(WORD)) {
                if counts == [0; WORD] {
                    continue;
                }
                for (count, seen) in counts.iter_mut().zip(seen).filter(|(count, _)| **count > 0) {
                    let bucket = bucket(*count);
                    new |= *seen & bucket == 0;
                    self.edges += usize::from(*seen == 0);
                    *seen |= bucket;
                    *count = 0;
                }
            }
            at += len;
        }
        new
    }
}

/// Returns true if the program was built with counters.
pub fn is_built_in() -> bool {
    COUNTERS.lock().is_ok_and(|c| !c.is_empty())
}

const fn bucket(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128.. => 128,
    }
}
