//! Tests of the commands that configure Linux to behave like a link.

use scenario::Scenario;
use scenario::read::{self, Format};

fn scenario(link: &str) -> Scenario {
    let text = format!(
        "duration = '10s'\n[link.up]\nfrom = 'home'\nto = 'net'\nboth_ways = true\n{link}\n\
         [app.up]\nfrom = 'home'\nto = ['net']\ntraffic = 'ping'\n"
    );
    read::scenario(&text, Format::Toml, &[]).unwrap()
}
fn commands(link: &str) -> Vec<String> {
    let text = scenario(link).tc(Some("up")).unwrap();
    text.lines().filter(|l| l.starts_with("tc ")).map(str::to_owned).collect()
}
fn comments(link: &str) -> String {
    let text = scenario(link).tc(Some("up")).unwrap();
    text.lines().filter(|l| l.starts_with('#')).map(|l| format!("{l}\n")).collect()
}

#[test]
fn a_link_of_a_rate_is_a_class_with_the_discipline_in_it() {
    let got = commands("rate = '5mbit'\nqueue = 'fq_codel variant linux'");
    let want = [
        r#"tc qdisc replace dev "$DEV" root handle 1: htb default 1"#,
        r#"tc class replace dev "$DEV" parent 1: classid 1:1 htb rate 5mbit ceil 5mbit burst 1600 cburst 1600 quantum 1514"#,
        r#"tc qdisc replace dev "$DEV" parent 1:1 handle 10: fq_codel limit 10240 flows 1024 quantum 1514 memory_limit 33554432 target 5ms interval 100ms ecn drop_batch 64"#,
    ];
    assert_eq!(got, want);
    assert_eq!(commands("queue = 'pfifo limit 10'"), [r#"tc qdisc replace dev "$DEV" root handle 10: pfifo limit 10"#]);
}

#[test]
fn shapers_have_their_own_words() {
    let bucket = "shaper = { max_sustained_rate = '10mbit', max_traffic_burst = '10MB', peak_traffic_rate = '20mbit' }";
    assert_eq!(
        commands(bucket)[0],
        r#"tc qdisc replace dev "$DEV" root handle 1: tbf rate 10mbit burst 10000000 peakrate 20mbit mtu 1522 limit 1514000"#
    );
    let htb = "rate = '50mbit'\nshaper = { htb = { rate = '10mbit', ceil = '20mbit', burst = 3000 } }";
    assert!(commands(htb)[1].contains("htb rate 10mbit ceil 20mbit burst 3000 cburst 1600"));
    assert!(comments(htb).contains("sends at 50mbit"));
    let modem = "rate = '27mbit'\ndocsis = { flow = { max_sustained_rate = '5mbit' } }";
    assert!(comments(modem).contains("no cable modem") && commands(modem)[0].contains("tbf rate 5mbit"));
}

/// A uniform jitter of 0 to 4 ms on a delay of 10 ms becomes 12 ms +- 2 ms in tc-netem(8).
#[test]
fn what_happens_behind_the_server_is_netem_at_the_far_end() {
    let got = commands("rate = '5mbit'\ndelay = '10ms'\njitter = '4ms'\nloss = '1%'").pop().unwrap();
    assert_eq!(got, "tc qdisc replace dev ifb0 root handle 1: netem limit 1000 delay 12ms 2ms loss 1%");
    // 1 Gbit/s for 100 ms is 12.5 MB in flight, or 195 312 whole frames of 64 bytes; the limit is one more
    let got = commands("rate = '1gbit'\ndelay = '100ms'").pop().unwrap();
    assert!(got.contains("limit 195313 delay 100ms"), "{got}");
    assert!(comments("rate = '5mbit'\njitter = '4ms'").contains("netem's jitter reorders packets"));
    assert!(comments("rate = '5mbit'\nlose = [3, 4]").contains("cannot lose chosen packets (2 here)"));
}

#[test]
fn changes_are_comments_that_say_when() {
    let text = comments(
        "rate = '5mbit'\ndelay = '10ms'\nchanges = [{ at = '3s', rate = '1mbit' }, { at = '5s', delay = '20ms' }]",
    );
    assert!(
        text.contains("# at 3s:\n#     tc class change dev \"$DEV\" parent 1: classid 1:1 htb rate 1mbit"),
        "{text}"
    );
    assert!(
        text.contains("# at 5s:\n#     tc qdisc replace dev ifb0 root handle 1: netem limit 1000 delay 20ms"),
        "{text}"
    );
}

#[test]
fn every_direction_has_a_part_and_another_name_is_refused() {
    let both = scenario("rate = '5mbit'\ndelay = '1ms'");
    let text = both.tc(None).unwrap();
    assert!(text.contains("# link up: on home, the interface towards net"), "{text}");
    let ifbs: Vec<&str> = text.lines().filter(|l| l.starts_with("ip link add")).collect();
    assert_eq!(ifbs, ["ip link add ifb0 type ifb", "ip link add ifb1 type ifb"]);
    assert!(text.contains("# link ~up: on net, the interface towards home"), "{text}");
    let refusal = both.tc(Some("upp")).unwrap_err().to_string();
    assert_eq!(refusal, "unknown link \"upp\"; did you mean \"up\"? (known: up, ~up)");
}

/// Names of links and nodes appear only in comments, so a shell cannot run them as commands.
#[test]
fn names_cannot_leave_their_comment() {
    let text = "duration = '1s'\n[link.\"a\\nreboot\"]\nfrom = \"x\\nrm\"\nto = 'y'\nboth_ways = true\nrate = '1mbit'\ndelay = '1ms'\n";
    // reading a scenario refuses such names; without that check, the commands are still safe
    assert!(read::scenario(text, Format::Toml, &[]).is_err());
    let odd = read::tree(read::parse(text, Format::Toml).unwrap()).unwrap();
    for line in odd.tc(None).unwrap().lines() {
        let known = ["# ", "tc ", "ip link ", "ethtool ", "DEV=eth0", "IN=eth0"];
        assert!(line.is_empty() || known.iter().any(|k| line.starts_with(k)), "{line}");
    }
}

/// Returns all lines from the first change on, without "#     ".
fn at_changes(link: &str) -> Vec<String> {
    let text = scenario(link).tc(Some("up")).unwrap();
    let from = text.find("# at ").unwrap();
    text[from..].lines().map(|l| l.trim_start_matches("#     ").to_owned()).collect()
}

/// The change to zero must be written too, because netem keeps its delay and loss until it is replaced.
#[test]
fn a_wire_that_becomes_ideal_clears_its_netem() {
    let got = at_changes(
        "rate = '5mbit'\ndelay = '9ms'\nchanges = [{ at = '3s', delay = '0s' }, { at = '4s', delay = '5ms', loss = 0.01 }, \
         { at = '5s', delay = '0s', loss = 0.0 }]",
    );
    let netem = |words: &str| format!("tc qdisc replace dev ifb0 root handle 1: netem limit 1000{words}");
    let want = ["# at 3s:", &netem(""), "# at 4s:", &netem(" delay 5ms loss 1%"), "# at 5s:", &netem("")];
    assert_eq!(got, want);
}

/// A wire that is ideal at first needs its ifb from the start, because a change only replaces the netem on it.
#[test]
fn a_wire_that_is_ideal_at_first_has_its_ifb() {
    let link = "rate = '5mbit'\nchanges = [{ at = '3s', delay = '20ms' }, { at = '4s', jitter = '2ms' }]";
    let text = scenario(link).tc(Some("up")).unwrap();
    assert!(text.contains("\nip link add ifb0 type ifb\n") && text.contains("redirect dev ifb0\n"), "{text}");
    assert_eq!(commands(link).last().unwrap(), "tc qdisc replace dev ifb0 root handle 1: netem limit 1000");
    assert!(at_changes(link)[1].ends_with("netem limit 1000 delay 20ms"), "{text}");
    assert!(text.contains("netem's jitter reorders packets"), "{text}");
    // changes of the rate alone need no netem
    let text = scenario("rate = '5mbit'\nchanges = [{ at = '3s', rate = '1gbit' }]").tc(Some("up")).unwrap();
    assert!(!text.contains("ifb") && !text.contains("netem"), "{text}");
}

/// tc refuses a rate of zero. An HTB class with the lowest rate would stay stopped for up to a minute after the outage.
#[test]
fn an_outage_is_the_lowest_rate_of_a_tbf() {
    let link = "rate = '10mbit'\ndelay = '9ms'\nqueue = 'pfifo limit 50'\n\
                changes = [{ at = '3s', rate = '0bit' }, { at = '4s', delay = '1ms' }, { at = '5s', rate = '10mbit' }]";
    let got = commands(link);
    assert_eq!(got[0], "tc qdisc replace dev \"$DEV\" root handle 1: tbf rate 10mbit burst 1600 limit 1514000");
    assert_eq!(got[1], "tc qdisc replace dev \"$DEV\" parent 1:1 handle 10: pfifo limit 50");
    // a change of tbf also sets the limit of a FIFO in it
    let fifo = "tc qdisc change dev \"$DEV\" parent 1:1 handle 10: pfifo limit 50";
    let want = [
        "# at 3s:",
        "tc qdisc change dev \"$DEV\" root handle 1: tbf rate 8bit burst 1600 overhead 65535 limit 1514000",
        fifo,
        "# at 4s:",
        "tc qdisc replace dev ifb0 root handle 1: netem limit 1000 delay 1ms",
        "# at 5s:",
        "tc qdisc change dev \"$DEV\" root handle 1: tbf rate 10mbit burst 1600 limit 1514000",
        fifo,
    ];
    assert_eq!(at_changes(link), want);
    assert!(comments(link).contains("outage: "), "{}", comments(link));
    assert!(!scenario(&link.replace("'0bit'", "'1bit'")).tc(None).unwrap().contains("tbf"));
}

/// A limit of 100 ms is 125 000 bytes at 10 Mbit/s. It changes with the rate, but stays the same at the rate 0.
#[test]
fn a_plain_queue_keeps_its_limit_when_its_server_changes() {
    let shaper = "shaper = { max_sustained_rate = '10mbit', max_traffic_burst = '10kB' }\nqueue = 'droptail'\n\
                  changes = [{ at = '3s', max_sustained_rate = '5mbit' }]";
    assert_eq!(
        at_changes(shaper).last().unwrap(),
        "tc qdisc change dev \"$DEV\" parent 1:1 handle 10: pfifo limit 1000"
    );
    let time = "rate = '10mbit'\nqueue.droptail = { limit = '100ms' }\n\
                changes = [{ at = '3s', rate = '5mbit' }, { at = '4s', rate = '0bit' }]";
    let limits: Vec<String> =
        at_changes(time).iter().filter_map(|l| Some(l.split_once("bfifo limit ")?.1.to_owned())).collect();
    assert_eq!(limits, ["62500", "62500"]);
    let codel = "rate = '10mbit'\nqueue = 'codel'\nchanges = [{ at = '3s', rate = '0bit' }]";
    assert!(!at_changes(codel).iter().any(|l| l.contains("handle 10:")));
}

/// Comments shorten the values that a user wrote, but not our own explanations.
#[test]
fn explanations_are_whole() {
    let text = comments("rate = '5mbit'\nqueue = 'drr'");
    assert!(text.contains(
        "(nearest: drr with a class and a filter for each flow): a plain queue with the same limit replaces it\n"
    ));
    let text = comments("rate = '5mbit'\nqueue = 'cobalt'");
    assert!(text.contains("a plain queue with the same limit replaces it\n"), "{text}");
    assert!(!text.contains("..."), "{text}");
}
