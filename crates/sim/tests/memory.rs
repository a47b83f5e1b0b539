//! Tests that memory stays small and does not grow with simulated time. The test has its own allocator, which counts
//! live bytes.
#![allow(unsafe_code, reason = "an allocator that counts bytes needs unsafe code")]

#[path = "it/common/mod.rs"]
mod common;
use common::{D04_APPS, modem, read};
use sim::World;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with a count of live bytes and their peak.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded unchanged to the system's allocator
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller meets the requirements of the system's allocator
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller meets the requirements of the system's allocator
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MB: usize = 1_000_000;

/// Runs a scenario. Returns the world's live bytes at the end of the run, the peak during the run, and the peak from the
/// start of the run until the result has been computed.
fn bytes(toml: &str) -> (usize, usize, usize) {
    let s = read(toml);
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let mut world = World::build(&s).unwrap();
    world.run(|_| true);
    let (live, peak) = (LIVE.load(Relaxed) - before, PEAK.load(Relaxed) - before);
    drop(world.outcome(&s));
    (live, peak, PEAK.load(Relaxed) - before)
}

/// There is only one test, because the allocator counts the bytes of the whole process.
#[test]
fn memory_stays_small_and_does_not_grow_with_time() {
    let (live, peak, with_results) = bytes(&modem("droptail = { limit = \"417p\" }", 60, D04_APPS));
    eprintln!("modem: {live} B live, {peak} B at most, {with_results} B with its results");
    assert!(peak < 40 * MB, "{peak}");
    assert!(with_results < 40 * MB, "{with_results}");

    // the number of bins is fixed, so ten times the duration needs the same memory
    let cheap = |seconds: u32| {
        format!(
            r#"
            duration = "{seconds}s"
            [link.up]
            from = "a"
            to = "b"
            rate = "300kbit"
            delay = "20ms"
            queue.droptail = {{ limit = "30p" }}
            [link.down]
            from = "b"
            to = "a"
            rate = "1mbit"
            delay = "20ms"
            queue.codel = {{ limit = "100p" }}
            [app.ftp]
            from = "a"
            to = ["b"]
            traffic.ftp = {{}}
            [app.web]
            from = "a"
            to = ["b"]
            traffic.web = {{ servers = 1, think = "10s", page = {{ uniform = {{ html = "5KB", size = "2KB", per_server = 20 }} }} }}
            [app.voip]
            from = "b"
            to = ["a"]
            traffic.voip = {{}}
            "#
        )
    };
    let (short, long) = (bytes(&cheap(600)), bytes(&cheap(6000)));
    eprintln!("600 s: {short:?}; 6000 s: {long:?}");
    assert!(long.0 <= short.0 + 2 * MB && long.1 <= short.1 + 2 * MB);
}
