/// Size of a cache line in bytes.
pub const LINE: usize = 64;

/// Prefetches the cache line `offset` bytes after the start of `place`, without waiting for it.
///
/// This is only a hint: it changes no value, and does nothing on processors other than x86-64.
#[inline(always)]
#[allow(unsafe_code, reason = "reads nothing and is valid for every address; `hint::prefetch_read` is not stable yet")]
pub fn prefetch<T>(place: &T, offset: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of x86-64 and does not fault, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast::<i8>().wrapping_add(offset));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, offset);
}
