//! Large pages for the connection table.

/// Size in bytes of the smallest table for which large pages are worth their cost.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "large pages are requested on Linux only"))]
const LARGE: usize = 4 << 20;

/// Returns an empty vector with room for `most` values. The vector uses large pages if its room is at least [`LARGE`] bytes and
/// the system supports large pages.
///
/// Ten thousand connections need more small pages than a TLB can hold, so nearly every packet would cause a TLB miss. Reserving
/// the room at once avoids the holes that a growing table leaves in memory. The unused part costs no memory.
#[allow(unsafe_code, reason = "there is no safe way to advise the kernel")]
pub(crate) fn table<T>(most: usize) -> Vec<T> {
    #[cfg_attr(not(target_os = "linux"), allow(unused_mut, reason = "as above"))]
    let mut table: Vec<T> = Vec::with_capacity(most);
    #[cfg(target_os = "linux")]
    if size_of_val(table.spare_capacity_mut()) >= LARGE {
        let page = 4096;
        let room = table.spare_capacity_mut();
        let start = room.as_mut_ptr().addr().next_multiple_of(page);
        let end = room.as_mut_ptr_range().end.addr() / page * page;
        // SAFETY: the range covers whole pages within this allocation; the advice does not change them, and the kernel may ignore
        // it
        unsafe { libc::madvise(room.as_mut_ptr().with_addr(start).cast(), end - start, libc::MADV_HUGEPAGE) };
    }
    table
}
