//! Tests that read and write disciplines in tc's syntax: the meaning of the keywords, the errors, and the round trip.

use qdisc::{LawSpec, Params, QDISCS, Spec};
use serde_json::{Value, json};
use units::{BitRate, Limit};

fn read(text: &str) -> Result<Spec, String> {
    serde_json::from_value(json!(text)).map_err(|e| e.to_string())
}
fn table(json: &str) -> Spec {
    serde_json::from_value(json.parse().unwrap()).unwrap()
}
fn refusal(text: &str) -> String {
    read(text).unwrap_err()
}

#[test]
fn words_mean_the_table_with_the_same_values() {
    for (text, json) in [
        ("fq_codel limit 1000p target 5ms ecn", r#"{"fq_codel": {"limit": "1000p", "target": "5ms", "ecn": true}}"#),
        ("fq_codel noecn flows 16 quantum 300", r#"{"fq_codel": {"ecn": false, "flows": 16, "quantum": "300B"}}"#),
        // 32Mb is 32 x 1024 x 1024 bytes
        ("fq_codel memory_limit 32Mb drop_batch 1", r#"{"fq_codel": {"memory_limit": "33554432B", "drop_batch": 1}}"#),
        (
            "fq_codel ce_threshold 1ms ce_threshold_selector 0x01/0x03",
            r#"{"fq_codel": {"ce_threshold": "1ms", "ce_threshold_selector": "1/3"}}"#,
        ),
        ("  codel  ", r#"{"codel": {}}"#),
        ("codel target 5ms", r#"{"codel": {"target": "5ms"}}"#),
        (
            "codel limit 1000 interval 100msec ce_threshold 500us",
            r#"{"codel": {"limit": "1000p", "ce_threshold": "500us"}}"#,
        ),
        ("fq_codel ce_threshold 0", r#"{"fq_codel": {"ce_threshold": "0s"}}"#),
        // tc-pie(8): alpha and beta are in units of 1/16 per second
        ("pie alpha 4 beta 32 tupdate 16ms", r#"{"pie": {"alpha": 0.25, "beta": 2.0, "tupdate": "16ms"}}"#),
        ("pie bytemode dq_rate_estimator", r#"{"pie": {"bytemode": true, "delay": "departure_rate"}}"#),
        (
            "fq_pie flows 8 target 10ms ecn_prob 20 ecn",
            r#"{"fq_pie": {"flows": 8, "pie": {"target": "10ms", "mark_ecnth": 0.2, "ecn": true}}}"#,
        ),
        (
            "sfq perturb 10 divisor 512 depth 20",
            r#"{"sfq": {"variant": "linux", "perturb": "10s", "queues": 512, "queue_limit": "20p"}}"#,
        ),
        // in a command, `sfq` means Linux's SFQ, even without keywords; the name alone means our sfq and its defaults
        ("tc qdisc add dev eth0 root sfq perturb 10", r#"{"sfq": {"variant": "linux", "perturb": "10s"}}"#),
        ("tc qdisc add dev eth0 root sfq", r#"{"sfq": {"variant": "linux"}}"#),
        ("sfq perturb 10 variant mckenney", r#"{"sfq": {"perturb": "10s"}}"#),
        ("sfq", r#"{"sfq": {}}"#),
        (
            "sfq headdrop",
            r#"{"sfq": {"variant": "linux", "overflow": {"longest": {"by": "packets", "from": "head", "tie": "latest"}}}}"#,
        ),
        (
            "red limit 60kb min 15kb max 45kb avpkt 1000 burst 20 probability 0.1 bandwidth 10mbit harddrop",
            r#"{"red": {"variant": "linux", "limit": "61440B", "min": "15360B", "max": "46080B", "avpkt": 1000,
                "burst": 20, "probability": 0.1, "bandwidth": "10mbit", "harddrop": true}}"#,
        ),
        (
            "cake bandwidth 10mbit diffserv4 triple-isolate docsis ack-filter",
            r#"{"cake": {"bandwidth": "10mbit", "diffserv": "diffserv4", "overhead": 18, "mpu": 64, "ack_filter": "normal"}}"#,
        ),
        (
            "cake unlimited besteffort dual-srchost wash ingress metro pppoe-ptm memlimit 2Mb ack-filter-aggressive",
            r#"{"cake": {"diffserv": "besteffort", "isolation": "dual_srchost", "wash": true, "ingress": true, "rtt": "10ms",
                "overhead": 30, "framing": "ptm", "memory_limit": "2097152B", "ack_filter": "aggressive"}}"#,
        ),
        (
            "cake rtt 50ms overhead -4 mpu 84 atm",
            r#"{"cake": {"rtt": "50ms", "overhead": -4, "mpu": 84, "framing": "atm"}}"#,
        ),
        // keywords for types of line and VLAN tags add their bytes to the overhead so far: 30 + 4 + 4 = 38, 10 + 18 = 28
        ("cake pppoe-ptm ether-vlan ether-vlan", r#"{"cake": {"overhead": 38, "framing": "ptm"}}"#),
        ("cake overhead 10 docsis via-ethernet", r#"{"cake": {"overhead": 28, "mpu": 64}}"#),
        ("cake ether-vlan overhead 10", r#"{"cake": {"overhead": 10}}"#),
        ("cake raw ether-vlan", r#"{"cake": {"overhead": 4}}"#),
        // conservative replaces overhead and framing, ethernet keeps the framing, and raw removes overhead and framing
        ("cake docsis conservative", r#"{"cake": {"overhead": 48, "mpu": 64, "framing": "atm"}}"#),
        ("cake atm ethernet", r#"{"cake": {"overhead": 38, "mpu": 84, "framing": "atm"}}"#),
        ("cake pppoe-ptm raw", r#"{"cake": {}}"#),
        ("cake", r#"{"cake": {}}"#),
        ("red", r#"{"red": {}}"#),
        ("dualpi2", r#"{"dualpi2": {}}"#),
        (
            "dualpi2 limit 500 memlimit 1Mb coupling_factor 3 step_thresh 5p min_qlen_step 1 overflow drop_enqueue any_ect",
            r#"{"dualpi2": {"limit": "500p", "memory_limit": "1048576B", "coupling_factor": 3, "step_thresh": "5p",
                "min_qlen_step": 1, "drop_overload": false, "drop_early": true, "ecn_mask": 3}}"#,
        ),
        (
            "dualpi2 target 10ms tupdate 8ms alpha 0.5 beta 4 step_thresh 2ms classic_protection 20%",
            r#"{"dualpi2": {"target": "10ms", "tupdate": "8ms", "alpha": 0.5, "beta": 4.0, "step_thresh": "2ms",
                "classic_protection": 0.2}}"#,
        ),
        // max_rtt is our rtt_max, and typical_rtt our target; if one of them is missing, max_rtt is six times typical_rtt
        ("dualpi2 max_rtt 100ms typical_rtt 20ms", r#"{"dualpi2": {"rtt_max": "100ms", "target": "20ms"}}"#),
        ("dualpi2 typical_rtt 15ms", r#"{"dualpi2": {"rtt_max": "90ms", "target": "15ms"}}"#),
        // 100 ms / 6 = 16666.7 us, which tc truncates
        ("dualpi2 max_rtt 100ms limit 50", r#"{"dualpi2": {"rtt_max": "100ms", "target": "16666us", "limit": "50p"}}"#),
        ("pfifo", r#"{"droptail": {}}"#),
        ("pfifo limit 417", r#"{"droptail": {"limit": "417p"}}"#),
        ("bfifo limit 64kb", r#"{"droptail": {"limit": "65536B"}}"#),
        ("bfifo", r#"{"droptail": {"limit": "1514000B"}}"#),
        ("pfifo_head_drop limit 20", r#"{"droptail": {"limit": "20p", "drop_head": true}}"#),
        // The laboratory's own parameter names are keywords too. They are accepted in disciplines that tc does not have,
        // and beside tc's keywords in disciplines that tc has.
        ("droptail limit 50ms ns2_off_by_one", r#"{"droptail": {"limit": "50ms", "ns2_off_by_one": true}}"#),
        ("lred limit 100p weight 0.5 p_max 5%", r#"{"lred": {"limit": "100p", "weight": 0.5}}"#),
        ("codel target 5ms variant linux", r#"{"codel": {"variant": "linux"}}"#),
        (
            "sfq_hss limit 500p + codel target 7ms",
            r#"{"sfq_hss": {"limit": "500p", "law": {"codel": {"target": "7ms"}}}}"#,
        ),
        // whole commands and lines of `tc qdisc show`
        ("tc qdisc replace dev eth0 root handle 1: codel limit 5", r#"{"codel": {"limit": "5p"}}"#),
        ("tc qdisc add dev eth0 parent 1:10 pfifo limit 5", r#"{"droptail": {"limit": "5p"}}"#),
        (
            "qdisc fq_codel 8003: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms \
             memory_limit 32Mb ecn drop_batch 64",
            r#"{"fq_codel": {}}"#,
        ),
        (
            "qdisc cake 8001: root refcnt 2 bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter \
             split-gso rtt 100ms raw overhead 0",
            r#"{"cake": {}}"#,
        ),
        (
            "qdisc dualpi2 1: root refcnt 2 limit 10000p step_thresh 1ms min_qlen_step 0p coupling_factor 2 \
             drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso",
            r#"{"dualpi2": {"limit": "10000p", "classic_protection": 0.1}}"#,
        ),
        // tc prints gains with six decimal places: 0.160156 is the kernel's 41/256 = 0.16015625, and 3.199219 its 819/256
        (
            "qdisc dualpi2 1: root refcnt 2 target 15ms tupdate 16ms alpha 0.160156 beta 3.199219",
            r#"{"dualpi2": {"tupdate": "16ms", "alpha": 0.16015625, "beta": 3.19921875}}"#,
        ),
        (
            "qdisc cake 8001: dev eth0 root refcnt 2 bandwidth 10Mbit diffserv3 triple-isolate nonat nowash no-ack-filter \
             split-gso rtt 100ms raw overhead 0",
            r#"{"cake": {"bandwidth": "10mbit"}}"#,
        ),
        (
            "qdisc sfq 8001: dev eth0 root refcnt 2 limit 127p quantum 1514b depth 127 divisor 1024 perturb 10sec",
            r#"{"sfq": {"variant": "linux", "limit": "127p", "quantum": 1514, "queue_limit": "127p", "queues": 1024,
                "perturb": "10s"}}"#,
        ),
    ] {
        assert_eq!(read(text), Ok(table(json)), "{text}");
    }
    let law: LawSpec = serde_json::from_value(json!("codel target 7ms")).unwrap();
    assert_eq!(law, serde_json::from_value(r#"{"codel": {"target": "7ms"}}"#.parse().unwrap()).unwrap());
}

#[test]
fn invalid_words_are_refused_in_one_line() {
    for (text, parts) in [
        ("fq_codel limmit 5", &["unknown variant `limmit`", "`limit`", "`target`"][..]),
        ("kodel limit 5", &["unknown variant `kodel`", "`codel`", "`pfifo`"]),
        ("fq_codel limit", &["fq_codel: \"limit\" is followed by a number of packets"]),
        ("codel limit 50ms", &["codel limit: \"50ms\" is not valid", "write the table with limit = \"50ms\""]),
        ("codel target 5", &["microseconds", "\"5us\"", "\"5ms\""]),
        ("codel target 5mbit", &["codel target: \"5mbit\" is not valid; expected a time"]),
        ("red limit 60kb avpkt 1000 bandwidth 20M", &["red bandwidth: \"20M\"", "write \"20mbit\""]),
        ("red limit 60kb avpkt 1000 adaptive", &["\"adaptive\" of tc is not modelled"]),
        ("sfq redflowlimit 10", &["\"redflowlimit\" of tc is not modelled"]),
        ("pie alpha 33", &["pie alpha: \"33\"", "0 to 32"]),
        ("cake nat", &["cake: \"nat\" of tc is not modelled"]),
        ("dualpi2 max_rtt 100ms target 20ms", &["\"target\"", "max_rtt", "leave it out"]),
        ("dualpi2 alpha 0.5 typical_rtt 20ms", &["\"alpha\"", "leave it out"]),
        ("dualpi2 max_rtt 100ms rtt_max 50ms", &["\"rtt_max\"", "leave it out"]),
        ("dualpi2 max_rtt 10ms typical_rtt 20ms", &["dualpi2 typical_rtt: 20ms", "at most max_rtt (10ms)"]),
        ("dualpi2 max_rtt 100", &["microseconds", "\"100ms\""]),
        ("cake bandwith 20mbit", &["unknown variant `bandwith`", "`bandwidth`"]),
        (
            "cake bandwidth 10Mbps",
            &["cake bandwidth: \"10Mbps\"", "bytes per second", "write \"80mbit\", or \"10mbit\""],
        ),
        ("cake bandwidth fast", &["cake bandwidth: \"fast\"", "5mbit"]),
        ("cake overhead 1.5", &["cake overhead: \"1.5\"", "18 or -4"]),
        ("fq_codel + cake", &["cake", "cobalt"]),
        ("pfifo_fast", &["strict_priority"]),
        ("htb rate 5mbit", &["shaper = \"htb\""]),
        ("", &["empty"]),
        ("tc qdisc add dev eth0", &["empty"]),
        ("codel + pie", &["the law of codel cannot be chosen"]),
        ("sfq_hss + none limit 5", &["nothing follows"]),
    ] {
        let line = refusal(text);
        for part in parts {
            assert!(line.contains(part), "{text}: {line}");
        }
    }
}

/// Tests commands for Linux's disciplines. A command is read and written back unchanged, and the written command is read
/// as the same discipline.
#[test]
fn what_is_said_reads_back() {
    for text in [
        "pfifo limit 417",
        "bfifo limit 65536",
        "pfifo_head_drop limit 20",
        "codel limit 500 target 7ms interval 120ms ecn ce_threshold 1ms",
        "fq_codel limit 500 flows 32 quantum 300 memory_limit 4000000 target 7ms interval 120ms noecn ce_threshold 1ms drop_batch 8 ce_threshold_selector 0x1/0x3",
        "pie limit 300 target 20ms tupdate 30ms alpha 3 beta 21 ecn bytemode dq_rate_estimator",
        "fq_pie limit 300 flows 64 quantum 1000 memory_limit 5000000 target 20ms tupdate 30ms alpha 3 beta 21 ecn_prob 30 ecn bytemode no_dq_rate_estimator",
        "cake bandwidth 10mbit diffserv4 dual-dsthost wash ack-filter split-gso rtt 50ms overhead 18 noatm mpu 64 memlimit 5000000 ingress",
        "cake unlimited besteffort flows nowash no-ack-filter no-split-gso rtt 100ms raw ptm mpu 0 egress",
        "sfq limit 200 perturb 10 quantum 3000 depth 64 divisor 256 headdrop",
        "red limit 61440 min 15360 max 46080 avpkt 1000 burst 20 probability 0.1 bandwidth 10mbit ecn harddrop",
        "dualpi2 limit 500 memlimit 900000 coupling_factor 3 step_thresh 5p min_qlen_step 1 overflow drop_enqueue any_ect classic_protection 20 target 10ms tupdate 8ms alpha 0.5 beta 4.5 no_split_gso",
    ] {
        let spec = read(text).unwrap();
        spec.validate().unwrap();
        let written = spec.in_tc(None);
        // each string contains every keyword that the writer emits, including those with default values, in the
        // writer's order, so the written command equals the string
        assert_eq!(written.words, text);
        assert_eq!(read(&written.words), Ok(spec), "{text}");
    }
}

#[test]
fn written_defaults_build_the_same_discipline() {
    let rate = Some(BitRate(5_000_000));
    for name in ["droptail", "codel", "fq_codel", "pie", "fq_pie", "cake", "dualpi2"] {
        let spec = Spec::named(name).unwrap();
        let again = read(&spec.in_tc(rate).words).unwrap();
        assert!(again.build() == spec.build(), "{name}: {}", spec.in_tc(rate).words);
    }
    for (text, words) in [
        ("sfq variant mckenney", "sfq limit 128 divisor 128"),
        ("sfq variant ns2", "sfq limit 40 divisor 16"),
        ("sfq variant linux", "sfq limit 127 divisor 1024"),
        ("pie variant draft2013", "pie target 20ms tupdate 30ms alpha 2 beta 20 noecn nobytemode dq_rate_estimator"),
    ] {
        let spec = read(text).unwrap();
        let written = spec.in_tc(rate);
        assert_eq!(written.words, words);
        let variant = text.rsplit(' ').next().unwrap();
        assert!(variant == "linux" || written.differences.iter().any(|l| l.contains(variant)), "{written:?}");
        // the written text builds the same discipline if the variant is appended to it
        assert!(read(&format!("{words} variant {variant}")).unwrap().build() == spec.build(), "{text}");
    }
}

/// Tests that Linux's SFQ is written with an explicit limit and divisor, because "sfq" alone is read as McKenney's SFQ.
/// If tc cannot express the limit, Linux's default is written instead.
#[test]
fn sfq_of_linux_writes_its_sizes() {
    for limit in ["null", r#""50ms""#] {
        let written = table(&format!(r#"{{"sfq": {{"variant": "linux", "limit": {limit}}}}}"#)).in_tc(None);
        assert_eq!(written.words, "sfq limit 127 divisor 1024");
        assert_eq!(read(&written.words).unwrap().in_tc(None).words, written.words);
    }
}

#[test]
fn a_probability_is_written_with_the_digits_that_are_read() {
    let written = table(r#"{"red": {"probability": 0.003689963906203621}}"#).in_tc(None).words;
    assert!(written.contains("probability 0.00368996390620"), "{written}");
    assert_eq!(read(&written).unwrap().in_tc(None).words, written);
    let tiny = table(r#"{"red": {"probability": 1e-7}}"#).in_tc(None).words;
    assert!(tiny.contains("probability 0.0000001"), "{tiny}");
}

#[test]
fn what_tc_cannot_express_is_listed() {
    let rate = Some(BitRate(10_000_000));
    let written = |json: &str| table(json).in_tc(rate);
    // 50 ms at 10 Mbit/s is 62 500 bytes, or 41 frames of 1514
    let codel = written(r#"{"codel": {"limit": "50ms", "variant": "linux"}}"#);
    assert_eq!(codel.words, "codel limit 41 target 5ms interval 100ms noecn");
    assert_eq!(codel.differences, ["limit = 50ms: 41 packets of 1514 bytes in tc"]);
    let bytes = written(r#"{"droptail": {"limit": "50ms"}}"#);
    assert_eq!(bytes.words, "bfifo limit 62500");
    // without a rate, 50 ms cannot be converted to bytes, so Linux's default applies (red has none in tc, so ours is written),
    // and `differences` says so
    for (name, words) in
        [("droptail", "bfifo limit 1514000"), ("codel", "codel target 5ms"), ("red", "red limit 1000000")]
    {
        let written = table(&format!(r#"{{"{name}": {{"limit": "50ms"}}}}"#)).in_tc(None);
        assert!(written.words.starts_with(words), "{written:?}");
        assert!(written.differences[0].starts_with("a limit of 50ms: without a rate"), "{written:?}");
    }
    // thresholds in packets are converted to bytes with avpkt; `bandwidth` makes Linux measure idle times at the link's rate
    let red = written(r#"{"red": {}}"#);
    assert_eq!(red.words, "red limit 1000000 min 5000 max 15000 avpkt 1000 probability 0.02 bandwidth 10mbit");
    assert!(red.differences.iter().any(|l| l.contains("variant = \"floyd93\"")), "{red:?}");
    let lred = written(r#"{"lred": {"limit": "100p"}}"#);
    assert_eq!(lred.words, "pfifo limit 100");
    assert!(lred.differences[0].starts_with("tc has no equivalent of lred"), "{lred:?}");
    let own = written(r#"{"fq_codel": {"law_sees": "own", "variant": "linux"}}"#);
    assert_eq!(own.differences, ["law_sees = \"own\": tc has no keyword for it"]);
}

/// Tests that a written dualpi2 command sets the gains that the simulator uses, including gains that follow from
/// `rtt_max`.
#[test]
fn dualpi2_is_written_with_its_gains() {
    let written = |json: &str| table(json).in_tc(None);
    let controller = |spec: &Spec| match spec {
        Spec::Dualpi2(p) => p.build().pi2().clone(),
        _ => panic!("{spec:?}"),
    };
    let control = |words: &str| words[words.find(" target").unwrap()..words.find(" split_gso").unwrap()].to_owned();
    for (json, words) in [
        // tupdate = 30 ms / 3, alpha = 0.1 x 10 ms / (30 ms)^2 = 1.111 = 284.4/256, and beta = 0.3 / 30 ms. tc's own result for
        // max_rtt 30ms typical_rtt 15ms is the same
        (r#"{"rtt_max": "30ms"}"#, " target 15ms tupdate 10ms alpha 1.109375 beta 10"),
        // 20 ms / 3 = 6666.7 us, which tc truncates; alpha = 0.1 x 6.666 ms / (20 ms)^2 = 1.6665 = 426.6/256
        (r#"{"rtt_max": "20ms"}"#, " target 15ms tupdate 6666us alpha 1.6640625 beta 15"),
        (r#"{"rtt_max": "90ms", "target": "20ms", "beta": 4}"#, " target 20ms tupdate 20ms alpha 0.24609375 beta 4"),
        // 0.16 = 40.96/256 becomes 40/256
        (r#"{"alpha": 0.16}"#, " target 15ms alpha 0.15625"),
        ("{}", " target 15ms"),
    ] {
        let own = written(&format!(r#"{{"dualpi2": {json}}}"#));
        assert_eq!((control(&own.words).as_str(), own.differences.len()), (words, 0), "{json}: {own:?}");
        let ours = table(&format!(r#"{{"dualpi2": {json}}}"#));
        assert_eq!(controller(&read(&own.words).unwrap()), controller(&ours), "{json}");
    }
    // RFC 9332's gains are real numbers: 0.15 = 38.4/256, and 0.1 x 15 ms / (300 ms)^2 = 0.016667 = 4.3/256
    let rfc = written(r#"{"dualpi2": {"variant": "rfc9332", "limit": "100p"}}"#);
    assert_eq!(control(&rfc.words), " target 15ms tupdate 15ms alpha 0.1484375 beta 3");
    assert!(
        rfc.differences.iter().any(|l| l.starts_with("alpha = 0.15") && l.ends_with(": 0.1484375 in tc")),
        "{rfc:?}"
    );
    let rfc = written(r#"{"dualpi2": {"variant": "rfc9332", "limit": "100p", "rtt_max": "300ms"}}"#);
    assert_eq!(control(&rfc.words), " target 15ms tupdate 15ms alpha 0.015625 beta 1");
    assert!(rfc.differences.iter().any(|l| l.starts_with("alpha = 0.01666")), "{rfc:?}");
    // Linux refuses a gain of 0, so the smallest gain is written, 1/256
    let rfc = written(r#"{"dualpi2": {"variant": "rfc9332", "limit": "100p", "alpha": 0.0001}}"#);
    assert!(rfc.words.contains(" alpha 0.00390625 "), "{rfc:?}");
}

/// Tests that a small number above 0 is not written as 0, which would switch its effect off.
#[test]
fn small_numbers_are_not_written_as_zero() {
    let pie = table(r#"{"pie": {"variant": "linux", "alpha": 0.01, "beta": 0}}"#).in_tc(None);
    assert!(pie.words.contains(" alpha 1 beta 0 "), "{pie:?}");
    assert_eq!(pie.differences, ["alpha = 0.01: alpha 1 in tc"]);
    let fq_pie = table(r#"{"fq_pie": {"pie": {"mark_ecnth": 0.002}}}"#).in_tc(None);
    assert!(fq_pie.words.contains(" ecn_prob 1 "), "{fq_pie:?}");
}

#[test]
fn every_discipline_is_written_in_words_that_parse() {
    for info in QDISCS {
        for rate in [None, Some(BitRate(5_000_000))] {
            let written = Spec::named(info.name).unwrap().in_tc(rate);
            let again = read(&written.words).unwrap_or_else(|e| panic!("{}: {}: {e}", info.name, written.words));
            again.validate().unwrap_or_else(|e| panic!("{}: {}: {e}", info.name, written.words));
        }
    }
}

#[test]
fn the_schema_takes_the_words() {
    let schema = serde_json::to_value(schemars::schema_for!(Spec)).unwrap();
    let choices = schema["oneOf"].as_array().unwrap();
    let text = choices.iter().find(|c| c["type"] == "string").unwrap();
    let pattern = text["pattern"].as_str().unwrap();
    for name in ["pfifo", "bfifo", "fq_codel", "sfq_hss"] {
        assert!(pattern.contains(name), "{pattern}");
    }
    assert_eq!(choices.iter().filter(|c: &&Value| c["type"] == "string").count(), 1);
    assert_eq!(read("pfifo").unwrap().limit(), Some(Limit::Packets(1000)));
}
