//! Tests that disciplines are read from text and written back, that every parameter is described, and that errors name the
//! parameter's path.

use super::*;

#[test]
fn texts_become_disciplines_with_tc_defaults() {
    #[derive(Deserialize)]
    struct Doc {
        queue: Spec,
    }
    let read = |text: &str| serde_json::from_value::<Doc>(toml::from_str(text).unwrap()).map(|d| d.queue);
    let spec = read("queue = { droptail = { limit = '417p' } }").unwrap();
    assert_eq!(
        serde_json::to_string(&spec).unwrap(),
        r#"{"droptail":{"limit":"417p","ns2_off_by_one":false,"drop_head":false,"super_segment":1}}"#
    );
    let spec = read("queue = { codel = {} }").unwrap();
    // tc-codel(8): limit 1000 packets, target 5 ms, interval 100 ms, noecn
    let Spec::Codel(p) = &spec else { panic!() };
    assert_eq!(
        (spec.limit().unwrap().to_string(), p.target.to_string(), p.interval.to_string(), p.ecn),
        ("1000p".into(), "5ms".into(), "100ms".into(), false)
    );
    let back: Spec = serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
    assert_eq!(back, spec);
    assert!(read("queue = { codel = { traget = '5ms' } }").unwrap_err().to_string().contains("traget"));
    assert!(read("queue = { kodel = {} }").is_err());
    assert_eq!(read("queue = 'codel'").unwrap(), read("queue = { codel = {} }").unwrap());
    let refusal = read("queue = 'kodel'").unwrap_err().to_string();
    assert!(refusal.contains("unknown variant `kodel`, expected") && refusal.contains("`codel`"), "{refusal}");
    assert!(read("queue = { codel = {}, droptail = {} }").is_err() && read("queue = {}").is_err());
}

#[test]
fn laws_are_hosted_under_the_names_of_their_disciplines() {
    let read = |text: &str| serde_json::from_value::<LawSpec>(text.parse().unwrap());
    assert_eq!(read(r#""none""#).unwrap(), LawSpec::None);
    let spec = read(r#"{"codel":{"target":"1ms"}}"#).unwrap();
    assert_eq!(read(&serde_json::to_string(&spec).unwrap()).unwrap(), spec);
    // by default, a law in a fair discipline has no limit of its own, and a stand-alone law has tc's default limit
    assert_eq!((spec.limit(), Spec::named("codel").unwrap().limit()), (None, Some(Limit::Packets(1000))));
    assert_eq!(read(r#"{"codel":{"limit":"0p"}}"#).unwrap().validate().unwrap_err().path, "codel.limit");
    assert!(read(r#""droptail""#).is_err());
    for info in QDISCS {
        assert_eq!(info.law, LawSpec::named(info.name).is_some(), "{}", info.name);
        assert_eq!(Spec::named(info.name).unwrap().name(), info.name);
    }
}

#[test]
fn problems_name_the_path() {
    let spec: Spec = serde_json::from_value(r#"{"codel":{"target":"0s"}}"#.parse().unwrap()).unwrap();
    assert_eq!(spec.validate().unwrap_err().under("queue").path, "queue.codel.target");
    let spec: Spec = serde_json::from_value(r#"{"droptail":{"limit":"0p"}}"#.parse().unwrap()).unwrap();
    assert_eq!(spec.validate().unwrap_err().path, "droptail.limit");
}

#[test]
fn no_limit_is_less_than_a_packet() {
    let refusal = |text: &str| serde_json::from_value::<Spec>(text.parse().unwrap()).unwrap().validate().unwrap_err();
    let mut limits = 0;
    for info in QDISCS {
        let schema = serde_json::to_value((info.params)()).unwrap();
        for field in ["limit", "queue_limit", "memory_limit"] {
            if schema["properties"].get(field).is_none() {
                continue;
            }
            let problem = refusal(&format!(r#"{{"{}":{{"{field}":"27B"}}}}"#, info.name));
            assert_eq!(problem.path, format!("{}.{field}", info.name));
            assert!(problem.message.contains("28B"), "{problem}");
            limits += 1;
        }
    }
    // Each discipline has at least one limit, except cbq and docsis_lld, which have a limit for each class or queue
    // instead. sfq, fq_codel, fq_pie, cake and dualpi2 have a second limit, and fair has a second and a third limit.
    // This makes seven additional limits.
    assert_eq!(limits, QDISCS.len() - 2 + 7);
    let mut cbq = crate::class::CbqParams::default();
    cbq.classes[1].limit = Limit::Bytes(units::Bytes(27));
    assert_eq!(Spec::Cbq(cbq).validate().unwrap_err().path, "cbq.classes.1.limit");
    assert_eq!(refusal(r#"{"sfq_hss":{"law":{"pie":{"limit":"27B"}}}}"#).path, "sfq_hss.law.pie.limit");
}

#[test]
fn every_parameter_has_a_description_and_a_default() {
    for info in QDISCS {
        let schema = serde_json::to_value((info.params)()).unwrap();
        for (name, p) in schema["properties"].as_object().unwrap() {
            assert!(p["description"].is_string(), "{}.{name}: {p}", info.name);
            assert!(p.get("default").is_some(), "{}.{name}: {p}", info.name);
        }
    }
}
