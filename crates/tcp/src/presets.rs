//! Whole stacks by name.

use crate::params::{
    Bbr3Form, CongestionControl, CubicForm, CwndValidation, DctcpForm, EcnFeedback, HyStart, IdleRestart,
    InitialWindow, LedbatParams, LossDetection, MinRto, Pacing, PragueCut, PragueRtt, ReceiveWindow, Recovery,
    Reduction, RttSource, TcpParams, Undo,
};
use units::{Bytes, Duration};

/// Names of the presets and what each one is.
pub const PRESETS: &[(&str, &str)] = &[
    (
        "linux-6",
        "Linux 6: its CUBIC with HyStart, SACK, RACK-TLP, PRR (RFC 9937), IW 10, delayed ACK 40 ms, RTO 1 s then at least 200 ms, timers on a wheel of 1 ms",
    ),
    ("cubic", "linux-6, by the name of its congestion control"),
    ("reno", "linux-6 with Reno (RFC 5681) for its congestion control"),
    ("bbr", "linux-6 with BBR version 1, paced"),
    ("dctcp", "linux-6 with DCTCP (RFC 8257) as Linux runs it, all ECT(0)"),
    ("prague", "linux-6 with TCP Prague: AccECN, all ECT(1), paced"),
    ("bbr3", "linux-6 with BBR version 3 of draft-ietf-ccwg-bbr, paced"),
    ("bbr3-draft", "The same as bbr3, by the name of its form"),
    ("bbr3-linux", "linux-6 with BBR version 3 as google/bbr has it, paced"),
    (
        "ledbat",
        "LEDBAT (RFC 6817: target 100 ms, gain 1, no slow start, IW 2) on the stack of linux-6, losses by DupThresh",
    ),
    (
        "ns2-cubic-2.6.22",
        "ns-2 Agent/TCP/Linux as in CableLabs 2012: CUBIC 2.1 (beta 0.8), FACK, rate halving, every ACK timed and restarting the timer",
    ),
    (
        "ns2-fulltcp-sack",
        "ns-2 FullTcp with SACK: Reno window, handshake and FIN, Nagle, 10-byte timestamps (SYN and ACK 50 B), IW 2, RTO 3 s",
    ),
    ("ns2-reno", "ns-2 Agent/TCP/Reno: classic fast recovery, no SACK, IW 2, 10 ms clock, slow start restart"),
    ("rfc", "The standards alone: Reno (5681), SACK (6675), limited transmit (3042), IW 3390, RTO (6298) at least 1 s"),
];

impl Default for TcpParams {
    fn default() -> Self {
        linux_6()
    }
}

impl TcpParams {
    /// The stack of this name (see [`PRESETS`]).
    pub fn preset(name: &str) -> Option<Self> {
        Some(match name {
            "linux-6" | "cubic" => linux_6(),
            "reno" => TcpParams { congestion_control: CongestionControl::Reno, ..linux_6() },
            "bbr" => TcpParams { congestion_control: CongestionControl::Bbr, ..linux_6() },
            "dctcp" => TcpParams {
                congestion_control: CongestionControl::Dctcp,
                ecn: true,
                ecn_feedback: EcnFeedback::Dctcp,
                ..linux_6()
            },
            "prague" => TcpParams {
                congestion_control: CongestionControl::Prague,
                ecn: true,
                ecn_feedback: EcnFeedback::Accecn,
                ..linux_6()
            },
            "bbr3" | "bbr3-draft" => bbr3(Bbr3Form::Draft),
            "bbr3-linux" => bbr3(Bbr3Form::Linux),
            "ledbat" => ledbat(),
            "ns2-cubic-2.6.22" => ns2_cubic_2622(),
            "ns2-fulltcp-sack" => ns2_fulltcp_sack(),
            "ns2-reno" => ns2_reno(),
            "rfc" => rfc(),
            _ => return None,
        })
    }
}

/// Linux 6 with its defaults, without offloads and without pacing.
fn linux_6() -> TcpParams {
    TcpParams {
        mss: 1448,
        header_bytes: 40,
        timestamp_bytes: 12,
        // MSS 4, SACK permitted 2, timestamps 10, NOP 1, window scale 3
        syn_option_bytes: 20,
        sack_on_wire: true,
        timestamps: true,
        handshake: true,
        initial_window: InitialWindow::Segments(10),
        initial_ssthresh: None,
        window_clamp: None,
        // Linux counts every segment that an ACK covers
        abc_limit: 1 << 16,
        cwnd_validation: CwndValidation::Round,
        congestion_control: CongestionControl::Cubic,
        cubic_form: CubicForm::Linux,
        bbr3_form: Bbr3Form::Draft,
        beta: None,
        cubic_c: 0.4,
        fast_convergence: true,
        tcp_friendliness: true,
        hystart: HyStart::Hystart,
        paced: false,
        pacing: Pacing::LinuxInternal,
        gso_max_segs: 1,
        tso: false,
        tsq: false,
        ledbat: LedbatParams::default(),
        reduce_from_flight: false,
        whole_segments: true,
        reduction_end_grows: true,
        marking_ack_reduces: true,
        recovery: Recovery::Sack,
        reduction: Reduction::Prr,
        dupthresh: 3,
        loss_detection: LossDetection::RackTlp,
        limited_transmit: true,
        keep_sack_after_rto: true,
        dsack: true,
        undo: Undo::Linux,
        frto: true,
        idle_restart: IdleRestart::Decay,
        nagle: false,
        fin_after_data: false,
        bare_handshake_ack: false,
        ecn: false,
        ect: None,
        ect_on: None,
        beta_ecn: None,
        dctcp_form: DctcpForm::Linux,
        prague_rtt: PragueRtt::Scaled,
        prague_cut: PragueCut::Rounds,
        ecn_feedback: EcnFeedback::Rfc3168,
        accecn_option: false,
        clock_granularity: Duration::from_millis(1),
        timer_tick: Duration::from_millis(1),
        quantise_rtt: false,
        min_rto: Duration::from_millis(200),
        min_rto_bounds: MinRto::Variation,
        max_rto: Duration::from_secs(120),
        backoff_doublings: 16,
        rtt_source: RttSource::SendTime,
        rtt_from_every_ack: false,
        damped_rttvar: true,
        backoff_until_new_data: false,
        any_ack_restarts_timer: false,
        every_timeout_reduces: false,
        initial_rto: Duration::from_secs(1),
        max_syn_rto: Duration::from_secs(120),
        syn_linear_timeouts: 4,
        syn_retries: Some(6),
        retries: Some(15),
        syn_loss_restricts: true,
        ack_every: 2,
        short_segments_wait: false,
        delayed_ack: Duration::from_millis(40),
        quick_acks: 16,
        quick_acks_return: true,
        ack_cwr: true,
        ack_pushed: false,
        ack_after_delivery: false,
        // tcp_rmem's default maximum of 6 MB
        receive_window: ReceiveWindow::fixed(Bytes(6_291_456)),
        rmem: None,
    }
}

/// BBR version 3 on Linux' machinery.
fn bbr3(bbr3_form: Bbr3Form) -> TcpParams {
    TcpParams { congestion_control: CongestionControl::Bbr3, bbr3_form, ..linux_6() }
}

/// The background transport of RFC 6817 on Linux' machinery; INIT_CWND 2 (§2.5).
fn ledbat() -> TcpParams {
    TcpParams {
        congestion_control: CongestionControl::Ledbat,
        initial_window: InitialWindow::Segments(2),
        hystart: HyStart::Off,
        loss_detection: LossDetection::Dupthresh,
        undo: Undo::None,
        frto: false,
        ..linux_6()
    }
}

/// What ns-2's agents share.
fn ns2() -> TcpParams {
    TcpParams {
        mss: 1460,
        timestamp_bytes: 0,
        syn_option_bytes: 0,
        sack_on_wire: false,
        initial_window: InitialWindow::Segments(2),
        abc_limit: 1,
        cwnd_validation: CwndValidation::Off,
        cubic_form: CubicForm::Rfc9438,
        hystart: HyStart::Off,
        pacing: Pacing::Exact,
        loss_detection: LossDetection::Dupthresh,
        whole_segments: false,
        reduction_end_grows: false,
        marking_ack_reduces: false,
        reduction: Reduction::Instant,
        limited_transmit: false,
        dsack: false,
        undo: Undo::None,
        frto: false,
        idle_restart: IdleRestart::Restart,
        clock_granularity: Duration::from_millis(10),
        timer_tick: Duration::ZERO,
        rtt_source: RttSource::Echo,
        damped_rttvar: false,
        quantise_rtt: true,
        min_rto_bounds: MinRto::Total,
        max_rto: Duration::from_secs(60),
        backoff_doublings: 6,
        every_timeout_reduces: true,
        initial_rto: Duration::from_secs(3),
        max_syn_rto: Duration::from_secs(60),
        syn_linear_timeouts: 0,
        syn_retries: None,
        retries: None,
        syn_loss_restricts: false,
        ack_every: 1,
        delayed_ack: Duration::from_millis(100),
        quick_acks: 0,
        quick_acks_return: false,
        ack_cwr: false,
        // ns-2's receivers have none; more than any window of the studies
        receive_window: ReceiveWindow::fixed(Bytes(1 << 30)),
        ..linux_6()
    }
}

/// Agent/TCP/Linux with the CUBIC of 2.6.22, `timestamps_ true`; one-way, payload 1460 in 1510 bytes.
///
/// Departs: its ACKs are 50 bytes, ns-2's sinks send 40; the first packet of ns-2's first window is a SYN of 40 bytes, which
/// the second one does not wait for.
fn ns2_cubic_2622() -> TcpParams {
    TcpParams {
        handshake: false,
        timestamps: true,
        timestamp_bytes: 10,
        cwnd_validation: CwndValidation::Full,
        congestion_control: CongestionControl::Cubic2622,
        // bic_scale 41 and a round trip of 100 ms
        cubic_c: 410.0 / 1024.0,
        recovery: Recovery::Sack,
        reduction: Reduction::HeldRateHalving,
        dupthresh: 4,
        loss_detection: LossDetection::ForwardAck,
        any_ack_restarts_timer: true,
        limited_transmit: true,
        idle_restart: IdleRestart::InitialAfterAck,
        clock_granularity: Duration::from_millis(1),
        rtt_from_every_ack: true,
        damped_rttvar: true,
        max_rto: Duration::from_secs(120),
        ..ns2()
    }
}

/// Agent/TCP/Reno; one-way, no timestamps, `singledup_`.
///
/// Departs: ns-2 begins with a 40-byte packet that stands for a SYN, one round trip before the data; it times one segment per
/// round trip.
fn ns2_reno() -> TcpParams {
    TcpParams {
        handshake: false,
        timestamps: false,
        congestion_control: CongestionControl::Reno,
        recovery: Recovery::Reno,
        limited_transmit: true,
        idle_restart: IdleRestart::OneAfterAck,
        backoff_until_new_data: true,
        keep_sack_after_rto: false,
        ..ns2()
    }
}

/// Agent/TCP/FullTcp/Sack; timestamps of 10 bytes make SYN and ACK 50 bytes. `nodelay_` is false: an object's last,
/// short segment waits until all before it is acknowledged.
fn ns2_fulltcp_sack() -> TcpParams {
    TcpParams {
        handshake: true,
        timestamps: true,
        timestamp_bytes: 10,
        syn_option_bytes: 10,
        congestion_control: CongestionControl::Reno,
        recovery: Recovery::Sack,
        keep_sack_after_rto: false,
        nagle: true,
        fin_after_data: true,
        bare_handshake_ack: true,
        short_segments_wait: true,
        ack_after_delivery: true,
        ..ns2()
    }
}

/// The RFCs and nothing else; initial window of RFC 3390 (RFC 6928 is experimental).
fn rfc() -> TcpParams {
    TcpParams {
        initial_window: InitialWindow::Rfc3390,
        abc_limit: 1,
        congestion_control: CongestionControl::Reno,
        cubic_form: CubicForm::Rfc9438,
        hystart: HyStart::Off,
        pacing: Pacing::Exact,
        loss_detection: LossDetection::Dupthresh,
        reduce_from_flight: true,
        whole_segments: false,
        reduction_end_grows: false,
        marking_ack_reduces: false,
        reduction: Reduction::Instant,
        dsack: false,
        undo: Undo::None,
        frto: false,
        idle_restart: IdleRestart::Restart,
        timer_tick: Duration::ZERO,
        rtt_source: RttSource::Echo,
        damped_rttvar: false,
        min_rto: Duration::from_secs(1),
        min_rto_bounds: MinRto::Total,
        max_rto: Duration::from_secs(60),
        max_syn_rto: Duration::from_secs(60),
        syn_linear_timeouts: 0,
        // RFC 1122 §4.2.3.5: R2 of a SYN at least 3 minutes: 1 + 2 + ... + 60 + 60 = 183 s
        syn_retries: Some(8),
        retries: Some(15),
        delayed_ack: Duration::from_millis(200),
        quick_acks: 0,
        quick_acks_return: false,
        ack_cwr: false,
        ..linux_6()
    }
}
