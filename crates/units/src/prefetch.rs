//! Memory that will be needed soon.

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Asks the processor for the cache line `offset` bytes behind the start of `place`, and waits for nothing.
///
/// A hint: no value changes, and where there is no such instruction nothing happens.
#[inline(always)]
#[allow(unsafe_code, reason = "reads nothing and is valid for every address; `hint::prefetch_read` is not stable yet")]
pub fn prefetch<T>(place: &T, offset: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64 and does not fault, wherever the address lies.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast::<i8>().wrapping_add(offset));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, offset);
}
