//! Tests that charts agree with the summary.

use face::Run;
use scenario::read;
use serde_json::Value;

const TWO_UPLOADS: &str = r#"
    duration = "7s"
    link.up = { from = "a", to = "b", rate = "5mbit", delay = "10ms", queue.droptail = { limit = "100p" } }
    link.down = { from = "b", to = "a", rate = "50mbit", delay = "10ms" }
    app.files = { from = "a", to = ["b"], traffic.ftp = { flows = FLOWS } }
    app.call = { from = "a", to = ["b"], traffic.voip = {} }
"#;

fn ran(flows: u32) -> (Run, sim::Outcome) {
    ran_of(&TWO_UPLOADS.replace("FLOWS", &flows.to_string()))
}

fn ran_of(text: &str) -> (Run, sim::Outcome) {
    let scenario = read::scenario(text, read::Format::Toml, &[]).expect("a scenario");
    let mut run = Run::new(scenario).expect("a run");
    let mut slices = 0;
    while run.go_on() < 1.0 {
        slices += 1;
        assert!(slices < 1000);
    }
    let outcome = run.outcome();
    (run, outcome)
}

fn sum(list: &Value) -> f64 {
    list.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).sum()
}

/// Running in slices gives the same summary as an uninterrupted run.
#[test]
fn slices_change_nothing() {
    let (run, outcome) = ran(20);
    let whole = face::measure(run.scenario(), &mut |_| true).expect("a run").1;
    assert_eq!(face::summary(&outcome), face::summary(&whole));
}

/// Tests that rates times bin widths add up to the bytes of the summary, for any number of bins, even if the run is not a whole
/// number of bins long.
#[test]
fn rates_add_up_to_the_bytes() {
    for flows in [2, 20] {
        let (run, outcome) = ran(flows);
        for points in [1, 7, 400, 100_000] {
            let drawn = run.charts(&outcome, points);
            let (width, starts) = (drawn["width_s"].as_f64().expect("s"), drawn["t_s"].as_array().expect("list").len());
            let last = 7.0 - (starts - 1) as f64 * width;
            assert!(starts <= points.min(6001) && last >= width * 0.999_999 && last < width * 2.0, "{starts} {last}");
            let lines = drawn["flows"].as_array().expect("lines");
            // two uploads have 4 curves, one for each flow and direction. Twenty uploads are too many for separate
            // curves, so they have 2 curves, one for each direction. The call has 1 curve
            let expected = if flows == 2 { 5 } else { 3 };
            assert_eq!(lines.len(), expected);
            let bytes = |line: &Value| {
                let rates = line["mbit"].as_array().expect("rates");
                let longer = rates.last().and_then(Value::as_f64).expect("a rate") * (last - width);
                (sum(&line["mbit"]) * width + longer) * 125_000.0
            };
            let drawn: f64 =
                lines.iter().filter(|l| l["app"] == "files" && l["direction"] == "forward").map(bytes).sum();
            let counted = outcome.summary["apps"]["files"]["wire_bytes"].as_f64().expect("bytes");
            assert!((drawn - counted).abs() < 1e-6 * counted, "{drawn} and {counted}");
        }
    }
}

/// With a single bin, the chart's mean and maximum of the delay equal the summary's.
#[test]
fn one_bin_is_the_whole_run() {
    let (run, outcome) = ran(2);
    let up = &run.charts(&outcome, 1)["links"]["up"];
    let of = &outcome.summary["links"]["up"]["sojourn_ms"];
    let near = |drawn: &Value, counted: &Value| {
        let (drawn, counted) = (drawn.as_f64().expect("drawn"), counted.as_f64().expect("counted"));
        assert!((drawn - counted).abs() < 1e-3 * counted, "{drawn} and {counted}");
    };
    near(&up["delay_ms"][0], &of["mean"]);
    near(&up["delay_ms_max"][0], &of["max"]);
}

/// The curve of the call's delays rises to 1, and reaches 1/2 within 1 % of the median in the summary. The two medians
/// may differ because a curve may leave out some of the histogram bins whose limits are less than 1 % apart.
#[test]
fn curves_pass_the_median() {
    let (run, outcome) = ran(2);
    let drawn = run.charts(&outcome, 100);
    let call = drawn["delays"].as_array().expect("delays").iter().find(|d| d["app"] == "call").expect("the call");
    let values = |key: &str| -> Vec<f64> {
        call["cdf"][key].as_array().expect(key).iter().map(|v| v.as_f64().expect("a number")).collect()
    };
    let (ms, share) = (values("ms"), values("share"));
    assert!(ms.is_sorted() && share.is_sorted());
    assert_eq!(share.last(), Some(&1.0));
    let half = ms[share.iter().position(|s| *s >= 0.5).expect("a half")];
    let median = outcome.summary["apps"]["call"]["voip"]["delay_ms"]["p50"].as_f64().expect("a median");
    assert!((half - median).abs() < 0.01 * median, "{half} and {median}");
}

/// The drops and marks of all bins add up to the drops and marks in the summary. The charts of a link with drop-tail do
/// not contain the delay of an L queue.
#[test]
fn drops_marks_and_two_queues() {
    let text = r#"
        duration = "7s"
        link.up = { from = "a", to = "b", rate = "10mbit", delay = "10ms", both_ways = true, queue = "dualpi2" }
        link.on = { from = "b", to = "c", rate = "5mbit", both_ways = true, queue.droptail = { limit = "20p" } }
        app.low = { from = "a", to = ["b"], tcp = "prague", traffic.ftp = {} }
        app.classic = { from = "a", to = ["b"], traffic.ftp = {} }
        app.far = { from = "b", to = ["c"], traffic.ftp = {} }
    "#;
    let (run, outcome) = ran_of(text);
    for points in [1, 50] {
        let drawn = run.charts(&outcome, points);
        for link in ["up", "on"] {
            let (bins, of) = (&drawn["links"][link], &outcome.summary["links"][link]);
            assert_eq!(sum(&bins["dropped"]), of["dropped_packets"].as_f64().expect("packets"), "{link}");
            assert_eq!(sum(&bins["marked"]), of["marked_packets"].as_f64().expect("packets"), "{link}");
        }
        assert!(sum(&drawn["links"]["on"]["dropped"]) > 0.0 && sum(&drawn["links"]["up"]["marked"]) > 0.0);
        assert!(drawn["links"]["on"].get("wait_l_ms").is_none());
    }
    // DualPI2 keeps the delay of the C queue near 15 ms, and marks packets in the L queue from a delay of 1 ms on. The
    // mean delay of all packets is between the means of the two queues
    let up = &run.charts(&outcome, 1)["links"]["up"];
    let [l, c, both] = ["wait_l_ms", "wait_c_ms", "delay_ms"].map(|key| up[key][0].as_f64().expect("a wait"));
    assert!(l < 3.0 && (8.0..25.0).contains(&c), "{l} and {c}");
    assert!(l < both && both < c, "{l}, {both}, {c}");
}

/// Returns how many frames of the only call were played, late, dropped, and in transit at the end.
fn fates(run: &Run, outcome: &sim::Outcome) -> [u64; 4] {
    let drawn = run.charts(outcome, 100);
    let frames = drawn["calls"][0]["frames"].as_str().expect("letters").to_owned();
    ['p', 'l', 'd', '-'].map(|letter| frames.chars().filter(|c| *c == letter).count() as u64)
}

/// The numbers of played, late and dropped frames in the chart of a call equal the numbers in its summary.
#[test]
fn frames_of_a_call_add_up_to_its_summary() {
    let lossy = TWO_UPLOADS.replace("rate = \"5mbit\"", "rate = \"5mbit\", loss = 0.03");
    for text in [
        TWO_UPLOADS.replace("FLOWS", "4").replace("7s", "60s"),
        TWO_UPLOADS.replace("FLOWS", "4").replace("droptail = { limit = \"100p\" }", "codel = {}"),
        TWO_UPLOADS.replace("FLOWS", "4").replace("droptail = { limit = \"100p\" }", "fq_codel = {}"),
        TWO_UPLOADS.replace("FLOWS", "1").replace("100p", "12p").replace("7s", "30s"),
        lossy.replace("FLOWS", "1"),
    ] {
        let (run, outcome) = ran_of(&text);
        let of = &outcome.summary["apps"]["call"]["voip"];
        let number = |key: &str| of[key].as_f64().expect(key);
        let percent = |key: &str| (number(key) / 100.0 * number("judged")).round() as u64;
        let [played, late, dropped, _] = fates(&run, &outcome);
        assert_eq!([late, dropped], [percent("late_percent"), percent("lost_percent")], "{text}");
        assert_eq!(played + late, number("received") as u64, "{text}");
    }
}

/// If bins are wider than half the interval between frames, arrivals cannot be matched to frames, so the charts contain
/// no frames.
#[test]
fn a_long_run_has_no_frames() {
    let (run, outcome) = ran_of(&TWO_UPLOADS.replace("FLOWS", "1").replace("7s", "61s"));
    assert_eq!(run.charts(&outcome, 100)["calls"], serde_json::json!([]));
}
