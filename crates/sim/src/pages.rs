//! Large pages for the table of connections.

/// Table size in bytes from which large pages pay.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "large pages are requested on Linux only"))]
const LARGE: usize = 4 << 20;

/// An empty vector with room for `most` values, on large pages from [`LARGE`] bytes on where the system has them.
///
/// Ten thousand connections cover more small pages than a TLB holds, so that nearly every packet would miss it. Room reserved at
/// once leaves no holes as a growing table does; the unused part costs no memory.
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
        // SAFETY: whole pages within this allocation; the advice changes no content, and may be refused
        unsafe { libc::madvise(room.as_mut_ptr().with_addr(start).cast(), end - start, libc::MADV_HUGEPAGE) };
    }
    table
}
