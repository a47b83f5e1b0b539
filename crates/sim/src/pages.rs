//! Large pages for the table of connections.

/// Bytes of a table from which on large pages pay.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere nobody is asked for large pages"))]
const LARGE: usize = 4 << 20;

/// Room for `most` values that are pushed one by one, from [`LARGE`] on large pages where the system has them.
///
/// Ten thousand connections lie on more small pages than a processor remembers, so that every packet would look one up. Room
/// that is asked for at once leaves no holes where smaller tables lay; what is never used costs no memory.
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
        // SAFETY: the whole pages of this very allocation; the advice changes no content. If it is refused, so be it.
        unsafe { libc::madvise(room.as_mut_ptr().with_addr(start).cast(), end - start, libc::MADV_HUGEPAGE) };
    }
    table
}
