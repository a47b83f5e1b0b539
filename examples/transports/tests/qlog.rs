//! The qlog file of a TCP sender (docs/qlog.md), opened by quiche's reader, the crate `qlog`.
//!
//! tests/python/test_qlog.py tests that a run of `qlog.toml` writes `upload-1.sqlog`.

use qlog::events::EventData;
use qlog::reader::{Event, QlogSeqReader};

#[test]
fn quiche_reads_every_event() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/upload-1.sqlog");
    let reader = QlogSeqReader::with_file(file).unwrap();
    assert_eq!(reader.qlog.file_schema, qlog::QLOGFILESEQ_URI);
    assert_eq!(reader.qlog.trace.event_schemas, [qlog::events::QUIC_URI]);
    let (mut sent, mut lost, mut acked, mut states) = (0, 0, 0, Vec::new());
    let (mut largest_window, mut least_rtt, mut last) = (0, f32::INFINITY, 0.0);
    for event in reader {
        let Event::Qlog(event) = event else { panic!("quiche has another type for {event:?}") };
        assert!(event.time >= last);
        last = event.time;
        match event.data {
            EventData::QuicPacketSent(packet) => {
                assert_eq!(packet.header.packet_number, Some(sent));
                sent += 1;
            }
            EventData::QuicPacketLost(_) => lost += 1,
            EventData::QuicPacketsAcked(packets) => acked += packets.packet_numbers.unwrap().len(),
            EventData::QuicMetricsUpdated(metrics) => {
                // quiche puts the fields that its own type lacks into `ex_data`
                assert!(metrics.ex_data.is_empty());
                largest_window = largest_window.max(metrics.congestion_window.unwrap_or_default());
                least_rtt = least_rtt.min(metrics.smoothed_rtt.unwrap_or(f32::INFINITY));
            }
            EventData::QuicCongestionStateUpdated(state) => states.push(state.new),
            other => panic!("{other:?}"),
        }
    }
    // the file has 276 lines with `packet_sent` and 20 with `packet_lost` (grep -c)
    assert_eq!((sent, lost), (276, 20));
    assert!(acked > 200 && acked < 276 - 20, "{acked}");
    // The first window is ten segments (14 480 bytes). The smallest smoothed RTT is the first: 20 ms plus the
    // transmission times of the SYN and the SYN-ACK
    assert!(largest_window > 14_480);
    assert!((20.0..21.0).contains(&least_rtt), "{least_rtt}");
    // HyStart ends slow start before the queue is full
    assert_eq!(states[..3], ["slow_start", "congestion_avoidance", "recovery"]);
}
