//! Tests of web pages on a scripted host.

use super::params::{LISTED, LISTED_HTML, Lognormal, Uniform};
use super::*;
use crate::Params;
use crate::tests::fake::Fake;
use units::{Bytes, Duration, math};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;
/// Round-trip times of CableLabs 2012 §3.2.3.
const RTT: [u64; 4] = [20 * MS, 30 * MS, 50 * MS, 100 * MS];

/// Runs a web user until the time `until`. The pauses between pages are constant unless `params` set a spread.
fn run(mut params: WebParams, fake: &mut Fake, until: u64) -> Web {
    params.validate().unwrap();
    params.think_spread.get_or_insert(Duration::ZERO);
    let mut app = params.build();
    fake.run(&mut app, Time(until));
    app
}

/// Returns the maximum number of connections to `peer` open at once. A connection counts as open until both sides have
/// closed it.
fn most_at_once(fake: &Fake, peer: usize) -> i32 {
    let mut steps: Vec<(Time, i32)> = Vec::new();
    for o in fake.opened.iter().filter(|o| o.peer == peer) {
        steps.push((o.at, 1));
        if let Some(end) = o.closed {
            steps.push((end, -1));
        }
    }
    // if a slot closes a connection and opens the next one at the same time, only one connection is open. Sorting puts
    // -1 (closed) before +1 (opened) at equal times, so the two are not counted as open at once
    steps.sort_unstable();
    steps
        .iter()
        .scan(0, |n, s| {
            Some({
                *n += s.1;
                *n
            })
        })
        .max()
        .unwrap()
}

#[test]
fn the_page_of_cablelabs_2012() {
    let mut fake = Fake::new(&RTT);
    fake.piece = 1460;
    run(WebParams::default(), &mut fake, 600 * S);
    // In the fake network, an object takes two round trips. So the html takes 40 ms, and the objects of server 4 take
    // ceil(25/6) = 5 rounds of 200 ms.
    let plt = 1040 * MS;
    // a page begins every 6.04 s. The last page that is complete before 600 s starts at 99 * 6.04 = 597.96 s
    assert_eq!(fake.pages.len(), 100);
    for (i, &(start, end, objects, bytes)) in fake.pages.iter().enumerate() {
        assert_eq!((start.0, end.0 - start.0), (i as u64 * (plt + 5 * S), plt));
        // a page has 100 objects of 25 kB and an html of 100 kB
        assert_eq!((objects, bytes), (100, 2_600_000));
    }
    assert_eq!(fake.opened.len(), 101 * 100);
    for peer in 0..4 {
        assert_eq!(most_at_once(&fake, peer), 6);
    }
    // a page has 101 GETs of 250 B
    let up: u64 = fake.writes.iter().filter(|w| w.role == Role::Client).map(|w| w.bytes).sum();
    assert_eq!(up, 101 * 250 * 100);
    assert_eq!(fake.open_now(), 0);
}

#[test]
fn the_order_of_opening() {
    for (order, first) in [(OpenOrder::Interleaved, [0, 1, 2, 3, 0, 1]), (OpenOrder::ByServer, [0, 0, 0, 0, 0, 0])] {
        let mut fake = Fake::new(&RTT);
        run(WebParams { open_order: order, pages: Some(1), ..Default::default() }, &mut fake, 100 * S);
        let peers: Vec<usize> = fake.opened[1..7].iter().map(|o| o.peer).collect();
        assert_eq!(peers, first);
        // the HTML's connection opens first, and 24 more open once the HTML is complete
        assert!(fake.opened[1..25].iter().all(|o| o.at == Time(40 * MS)));
        assert!(fake.opened[25].at > Time(40 * MS));
    }
}

#[test]
fn persistent_connections_save_the_handshakes() {
    let mut fake = Fake::new(&RTT);
    let params = WebParams { persistent: true, pages: Some(2), ..Default::default() };
    run(params, &mut fake, 100 * S);
    // the html takes 40 ms. The slowest slot is one that loads five objects from server 4: the first object takes 200
    // ms, including the handshake, and the other four take 100 ms each
    assert_eq!(fake.pages.iter().map(|p| (p.1.0 - p.0.0) / MS).collect::<Vec<_>>(), [640, 640]);
    assert_eq!((fake.opened.len(), fake.open_now()), (48, 0));
    assert!((0..4).all(|p| most_at_once(&fake, p) == 6));
}

#[test]
fn a_page_load_may_be_measured_from_the_get() {
    let mut fake = Fake::new(&RTT);
    let params = WebParams { measure_from: MeasureFrom::Connected, pages: Some(1), ..Default::default() };
    run(params, &mut fake, 100 * S);
    assert_eq!(fake.pages[0].0, Time(20 * MS));
}

#[test]
fn the_listed_page() {
    let sums: Vec<u32> = LISTED.iter().map(|s| s.iter().sum()).collect();
    assert_eq!(sums, [121_151, 60_683, 276_266, 156_302]);
    assert_eq!(sums.iter().sum::<u32>(), 614_402);
    assert_eq!(LISTED.iter().flatten().min(), Some(&11));
    assert_eq!(LISTED.iter().flatten().max(), Some(&147_107));
    let mut fake = Fake::new(&RTT);
    run(WebParams { page: Page::Listed, pages: Some(1), ..Default::default() }, &mut fake, 100 * S);
    assert_eq!((fake.pages[0].2, fake.pages[0].3), (100, 614_402 + 102_400));
    let e = WebParams { page: Page::Listed, servers: 3, ..Default::default() }.validate().unwrap_err();
    assert_eq!(e.path, "servers");
}

#[test]
fn log_normal_pages_have_their_total_and_shape() {
    let page = |draw| Page::Lognormal(Lognormal { draw, ..Default::default() });
    for draw in [Draw::Once, Draw::EachPage] {
        let mut fake = Fake::new(&RTT);
        run(WebParams { page: page(draw), pages: Some(40), ..Default::default() }, &mut fake, 1000 * S);
        assert_eq!(fake.pages.len(), 40);
        // each of the 100 sizes is rounded to a whole byte, so the sum differs by at most 50 B (or slightly more, if a
        // size of 0 was raised to 1)
        assert!(fake.pages.iter().all(|p| p.2 == 100 && p.3.abs_diff(614_400 + 102_400) < 60));
        let sizes: Vec<u64> =
            fake.writes.iter().filter(|w| w.role == Role::Server && w.bytes != LISTED_HTML).map(|w| w.bytes).collect();
        assert_eq!(sizes.len(), 4000);
        // scaling shifts the mean of the logarithms but keeps their standard deviation of 0.84, whose standard error is 0.84 /
        // sqrt(2n)
        let n = if draw == Draw::Once { 100 } else { 4000 };
        let logs: Vec<f64> = sizes[..n].iter().map(|&s| math::log10(s as f64)).collect();
        let mean = logs.iter().sum::<f64>() / n as f64;
        let sd = (logs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64).sqrt();
        assert!((sd - 0.84).abs() < 4.0 * 0.84 / (2.0 * n as f64).sqrt() + 0.02, "{sd}");
        // with `Once`, all pages have the same sizes; otherwise the sizes of each page are drawn again
        let mut all = sizes;
        all.sort_unstable();
        all.dedup();
        assert!(if draw == Draw::Once { all.len() <= 100 } else { all.len() > 1000 });
    }
}

#[test]
fn failed_connections_are_retried() {
    // connection 0 loads the html in 40 ms. Connection 5, which goes to server 1, fails 3 s after its opening. The
    // client requests the object again 1 s later, which takes 40 ms. So the page takes 40 ms + 3 s + 1 s + 40 ms
    let mut fake = Fake::new(&RTT).failing(&[5], 3 * S);
    run(WebParams { pages: Some(1), ..Default::default() }, &mut fake, 100 * S);
    assert_eq!(fake.pages, [(Time(0), Time(4080 * MS), 100, 2_600_000)]);
}

#[test]
fn given_up_objects_are_missing() {
    let params = WebParams { pages: Some(1), on_failure: OnFailure::GiveUp, ..Default::default() };
    let mut fake = Fake::new(&RTT).failing(&[5], 3 * S);
    run(params.clone(), &mut fake, 100 * S);
    assert_eq!(fake.pages, [(Time(0), Time(3040 * MS), 99, 2_575_000)]);
    // if the html of a page fails, its objects are not requested, and the next page follows
    let mut fake = Fake::new(&RTT).failing(&[0], 3 * S);
    run(WebParams { pages: Some(2), ..params.clone() }, &mut fake, 100 * S);
    assert_eq!(fake.pages, [(Time(0), Time(3 * S), 0, 0), (Time(8 * S), Time(9040 * MS), 100, 2_600_000)]);
    // all six connections to server 1 fail, so 19 of its objects are never requested
    let first: Vec<usize> = (0..6).map(|c| 1 + 4 * c).collect();
    let mut fake = Fake::new(&RTT).failing(&first, 3 * S);
    run(params, &mut fake, 100 * S);
    assert_eq!(fake.pages[0].2, 75);
}

#[test]
fn small_pages() {
    let page = Page::Uniform(Uniform { html: Bytes(1), per_server: 0, size: Bytes(1) });
    let mut fake = Fake::new(&[20 * MS]);
    run(WebParams { page, servers: 1, pages: Some(3), think: Duration::ZERO, ..Default::default() }, &mut fake, S);
    assert_eq!(
        fake.pages.iter().map(|p| (p.0.0 / MS, p.1.0 / MS, p.2)).collect::<Vec<_>>(),
        [(0, 40, 0), (40, 80, 0), (80, 120, 0)]
    );
    // this page has two objects, fewer than the six parallel connections, so only three connections open: one for the
    // html and one for each object
    let page = Page::Uniform(Uniform { html: Bytes(1), per_server: 2, size: Bytes(1) });
    let mut fake = Fake::new(&[20 * MS]);
    run(WebParams { page, servers: 1, pages: Some(1), ..Default::default() }, &mut fake, S);
    assert_eq!((fake.opened.len(), fake.pages[0].2), (3, 2));
}

#[test]
fn text_forms_and_refusals() {
    let p: WebParams = serde_json::from_str(r#"{"page": "listed", "request": 300, "think": "1s"}"#).unwrap();
    assert_eq!((p.page, p.request), (Page::Listed, Bytes(300)));
    let p: WebParams = serde_json::from_str(r#"{"page": {"lognormal": {"draw": "each_page"}}}"#).unwrap();
    assert_eq!(p.page, Page::Lognormal(Lognormal { draw: Draw::EachPage, ..Default::default() }));
    assert!(serde_json::from_str::<WebParams>(r#"{"sizes": 3}"#).is_err());
    let bad = |p: WebParams| p.validate().unwrap_err().path;
    assert_eq!(bad(WebParams { request: Bytes(0), ..Default::default() }), "request");
    let page = Page::Lognormal(Lognormal { log10_sd: f64::NAN, ..Default::default() });
    assert_eq!(bad(WebParams { page, ..Default::default() }), "page.lognormal.log10_sd");
    let page = Page::Uniform(Uniform { per_server: u32::MAX, ..Default::default() });
    assert_eq!(bad(WebParams { page, ..Default::default() }), "page.uniform.per_server");
}

#[test]
fn five_connections_make_up_for_a_stuck_sixth_if_retrieved_objects_count() {
    let load = |quota: Quota, stuck: &[usize]| {
        let params = WebParams { quota, open_order: OpenOrder::ByServer, pages: Some(1), ..Default::default() };
        let mut fake = Fake::new(&RTT).failing(stuck, 50 * S);
        let app = run(params, &mut fake, 200 * S);
        let &(start, end, objects, _) = fake.pages.first().unwrap();
        assert_eq!((app.pages, objects, fake.open_now()), (1, 100, 0));
        end.since(start)
    };
    let whole = load(Quota::Asked, &[]);
    // connection 0 carries the html, and connections 19 to 24 go to server 4, with a round trip of 100 ms. Connection
    // 24 fails after 50 s, and the client requests its object again on a new connection
    assert!(load(Quota::Asked, &[24]) > Duration::from_secs(50));
    // 25 objects take five rounds over six connections, and also over the five that remain if one is stuck
    assert_eq!(load(Quota::Retrieved, &[24]), whole);
    assert_eq!(load(Quota::Retrieved, &[]), whole);
    // if all connections to a server fail, the page waits
    assert!(load(Quota::Retrieved, &[19, 20, 21, 22, 23, 24]) > Duration::from_secs(50));
}

#[test]
fn a_page_starts_with_its_own_connection_not_with_one_of_the_page_before() {
    // objects of random sizes arrive at 1 B/us, so when the last object of a page arrives, other slots have just opened
    // connections. The next page follows 1 ms later, and its html takes a handshake of 100 ms
    let mut fake = Fake::new(&RTT);
    (fake.piece, fake.gap) = (1000, MS);
    let params = WebParams {
        html_server: 4,
        quota: Quota::Retrieved,
        measure_from: MeasureFrom::Connected,
        page: Page::Lognormal(Lognormal { draw: Draw::EachPage, ..Default::default() }),
        think: Duration::from_millis(1),
        think_spread: Some(Duration::ZERO),
        pages: Some(20),
        ..Default::default()
    };
    run(params, &mut fake, 1000 * S);
    let ends = || fake.pages.iter().map(|p| p.1.0);
    let expected: Vec<u64> = std::iter::once(0).chain(ends().map(|end| end + MS)).map(|syn| syn + 100 * MS).collect();
    let starts: Vec<u64> = fake.pages.iter().map(|p| p.0.0).collect();
    assert_eq!(starts, expected[..20]);
    // in some pages, an older connection is established during the handshake of the html
    let older = |end: u64| {
        let established = fake.opened.iter().filter(|o| o.at.0 <= end).map(|o| o.at.0 + RTT[o.peer]);
        established.filter(|at| (end + MS..end + 101 * MS).contains(at)).count()
    };
    assert!(ends().any(|end| older(end) > 0));
}

#[test]
fn the_html_may_lie_on_any_server() {
    // the html takes two round trips of 100 ms, and the objects take 1000 ms; the other servers do not delay the page
    let mut fake = Fake::new(&RTT);
    run(WebParams { html_server: 4, pages: Some(1), ..Default::default() }, &mut fake, 100 * S);
    assert_eq!(fake.pages, [(Time(0), Time(1200 * MS), 100, 2_600_000)]);
    assert_eq!((fake.opened[0].peer, fake.opened.iter().filter(|o| o.peer == 3).count()), (3, 26));
    for wrong in [0, 5] {
        let e = WebParams { html_server: wrong, ..Default::default() }.validate().unwrap_err();
        assert_eq!((e.path.as_str(), e.to_string().contains("1 to 4")), ("html_server", true));
    }
}

#[test]
fn pauses_are_drawn_around_think() {
    let pauses = |spread: Option<u64>| {
        let mut fake = Fake::new(&RTT);
        let params = WebParams { pages: Some(60), think_spread: spread.map(Duration), ..Default::default() };
        fake.run(&mut params.build(), Time(1000 * S));
        let ends = fake.pages.iter().map(|p| p.1.0);
        let begins = fake.pages.iter().skip(1).map(|p| p.0.0);
        begins.zip(ends).map(|(next, end)| next - end).collect::<Vec<_>>()
    };
    assert!(pauses(Some(0)).iter().all(|&p| p == 5 * S));
    let drawn = pauses(None);
    // pauses are uniform in 4 to 6 s, with a standard deviation of 1 s / sqrt(3) = 0.577 s. The mean of 59 pauses must be within
    // four standard errors
    assert!(drawn.len() == 59 && drawn.iter().all(|&p| (4 * S..=6 * S).contains(&p)), "{drawn:?}");
    let mean = drawn.iter().sum::<u64>() as f64 / 59.0 / S as f64;
    assert!((mean - 5.0).abs() < 4.0 * 0.577 / 59.0_f64.sqrt(), "{mean}");
    let e = WebParams { think_spread: Some(Duration(6 * S)), ..Default::default() }.validate().unwrap_err();
    assert_eq!(e.path, "think_spread");
}
