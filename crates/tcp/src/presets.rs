//! Presets: whole stacks by name.

use crate::cc::bbr3::Bbr3Form;
use crate::cc::cubic::CubicForm;
use crate::cc::shared::HyStart;
use crate::params::{
    CwndValidation, EcnFeedback, IdleRestart, InitialWindow, LossDetection, MinRto, Pacing, Quirks, ReceiveWindow,
    Recovery, Reduction, RttSource, SackCompression, TcpParams, Undo,
};
use units::{Bytes, Duration};

/// Declares the presets. Each preset has a description, a name, and code that changes the default stack, which is Linux
/// 6 without offloads and pacing.
macro_rules! presets {
    ($p:ident: $($(#[doc = $doc:literal])+ $name:literal $differs:block)+) => {
        /// The name and the description of each preset.
        pub const PRESETS: &[(&str, &str)] = &[$(($name, concat!($($doc),+).trim_ascii_start())),+];

        impl TcpParams {
            /// Returns the stack with this name (see [`PRESETS`]).
            pub fn preset(name: &str) -> Option<Self> {
                let mut stack = Self::default();
                let $p = &mut stack;
                match name {
                    $($name => $differs)+
                    _ => return None,
                }
                Some(stack)
            }
        }
    };
}

presets! { p:
    /// Linux 6: CUBIC with HyStart, SACK, RACK-TLP, PRR (RFC 9937), initial window 10, delayed ACK 40 ms, initial RTO 1 s,
    /// later at least 200 ms, timers on a wheel with a tick of 1 ms
    "linux-6" {}

    /// alias for linux-6, named after its congestion control
    "cubic" {}

    /// linux-6 with Reno (RFC 5681) as congestion control
    "reno" { p.control.choose("reno") }

    /// linux-6 with BBR version 1, paced
    "bbr" { p.control.choose("bbr") }

    /// linux-6 with Linux's form of DCTCP (RFC 8257); all packets are ECT(0)
    "dctcp" {
        p.control.choose("dctcp");
        (p.ecn.ecn, p.ecn.ecn_feedback) = (true, EcnFeedback::Dctcp);
    }

    /// linux-6 with TCP Prague: AccECN, paced; all packets are ECT(1)
    "prague" {
        p.control.choose("prague");
        (p.ecn.ecn, p.ecn.ecn_feedback) = (true, EcnFeedback::Accecn);
    }

    /// linux-6 with BBR version 3 of draft-ietf-ccwg-bbr, paced
    "bbr3" { p.control.choose("bbr3") }

    /// alias for bbr3, named after its form
    "bbr3-draft" { p.control.choose("bbr3") }

    /// linux-6 with google/bbr's form of BBR version 3, paced
    "bbr3-linux" {
        p.control.choose("bbr3");
        p.control.bbr3.bbr3_form = Bbr3Form::Linux;
    }

    /// linux-6 with LEDBAT (RFC 6817: target 100 ms, gain 1, no slow start, initial window 2), and loss detection by DupThresh
    "ledbat" {
        // RFC 6817 §2.5: INIT_CWND is 2
        p.control.choose("ledbat");
        p.control.shared.hystart = HyStart::Off;
        p.opening.initial_window = InitialWindow::Segments(2);
        only_dupthresh(p);
    }

    /// linux-6 with LEDBAT++ (target 60 ms, initial window 2)
    "ledbat++" {
        p.control.choose("ledbat++");
        p.control.shared.hystart = HyStart::Off;
        p.opening.initial_window = InitialWindow::Segments(2);
    }

    /// ns-2 Agent/TCP/Linux as in CableLabs 2012: CUBIC 2.1 (beta 0.8), FACK, rate halving; every ACK gives a round-trip sample
    /// and restarts the timer
    "ns2-cubic-2.6.22" {
        // The agent is one-way, has `timestamps_ true`, and sends 1460 bytes of payload in packets of 1510 bytes.
        // Departs: ACKs are 50 bytes long, whereas ns-2's sinks send 40. In ns-2, the first packet of the first window is a SYN
        // of 40 bytes, and the second packet leaves before this SYN is acknowledged.
        ns2(p, Quirks::NS2_LINUX);
        p.opening.handshake = false;
        p.wire.timestamp_bytes = 10;
        p.window.cwnd_validation = CwndValidation::Full;
        p.window.idle_restart = IdleRestart::InitialAfterAck;
        p.control.choose("cubic-2.6.22");
        // bic_scale is 41. The kernel divides bic_scale / 1024 by an RTT of 0.1 s, so C = 41 / 1024 / 0.1 = 410 / 1024
        p.control.shared.cubic_c = 410.0 / 1024.0;
        p.reduction.reduction = Reduction::HeldRateHalving;
        (p.detection.loss_detection, p.detection.dupthresh) = (LossDetection::ForwardAck, 4);
        p.detection.limited_transmit = true;
        p.rto.clock_granularity = Duration::from_millis(1);
        p.rto.max_rto = Duration::from_secs(120);
    }

    /// ns-2 FullTcp with SACK: Reno's window, handshake and FIN, Nagle, time stamps of 10 bytes (SYN and ACK have 50 bytes),
    /// initial window 2, initial RTO 3 s
    "ns2-fulltcp-sack" {
        // `nodelay_` is false, so the short last segment of an object waits until all earlier data is acknowledged
        ns2(p, Quirks::NS2_FULLTCP);
        (p.wire.timestamp_bytes, p.wire.syn_option_bytes) = (10, 10);
        p.control.choose("reno");
        p.window.nagle = true;
        p.detection.keep_sack_after_rto = false;
    }

    /// ns-2 Agent/TCP/Reno: classic fast recovery, no SACK, initial window 2, clock of 10 ms, slow start restart
    "ns2-reno" {
        // The agent is one-way, sends no time stamps, and uses limited transmit (`singledup_ true`).
        // Departs: ns-2 begins with a packet of 40 bytes in place of a SYN, one round trip before the data, and takes only
        // one RTT sample per round trip.
        ns2(p, Quirks::NS2_RENO);
        p.opening.handshake = false;
        p.wire.timestamps = false;
        p.control.choose("reno");
        p.window.idle_restart = IdleRestart::OneAfterAck;
        p.detection.recovery = Recovery::Reno;
        (p.detection.limited_transmit, p.detection.keep_sack_after_rto) = (true, false);
    }

    /// Only the standards: Reno (RFC 5681), SACK (RFC 6675), limited transmit (RFC 3042), initial window of RFC 3390, RTO of at
    /// least 1 s (RFC 6298)
    "rfc" {
        without_linux(p);
        p.control.choose("reno");
        // RFC 3390, because RFC 6928, which allows 10 segments, is only experimental
        p.opening.initial_window = InitialWindow::Rfc3390;
        p.reduction.reduce_from_flight = true;
        p.rto.min_rto = Duration::from_secs(1);
        // RFC 1122 §4.2.3.5: a SYN is retried for at least 3 minutes (R2). The eighth retransmission leaves after 1 + 2 + ... +
        // 60 + 60 = 183 s
        p.opening.syn_retries = Some(8);
        p.receiver.delayed_ack = Duration::from_millis(200);
    }
}

/// Selects loss detection by DupThresh, and turns off undo and F-RTO.
fn only_dupthresh(p: &mut TcpParams) {
    p.detection.loss_detection = LossDetection::Dupthresh;
    (p.detection.undo, p.detection.frto) = (Undo::None, false);
}

/// Turns off the features of Linux that the preset `rfc` and ns-2's agents do without.
fn without_linux(p: &mut TcpParams) {
    only_dupthresh(p);
    p.quirks = Quirks::NONE;
    p.control.cubic.cubic_form = CubicForm::Rfc9438;
    p.control.shared.hystart = HyStart::Off;
    p.window.abc_limit = 1;
    p.window.idle_restart = IdleRestart::Restart;
    p.pacing.pacing = Pacing::Exact;
    p.reduction.reduction = Reduction::Instant;
    p.rto.timer_tick = Duration::ZERO;
    p.rto.rtt_source = RttSource::Echo;
    p.rto.min_rto_bounds = MinRto::Total;
    p.rto.max_rto = Duration::from_secs(60);
    p.opening.max_syn_rto = Duration::from_secs(60);
    p.opening.syn_linear_timeouts = 0;
    (p.receiver.dsack, p.receiver.quick_acks) = (false, 0);
    p.receiver.sack_compression = SackCompression::Off;
}

/// Applies the settings common to ns-2's agents.
fn ns2(p: &mut TcpParams, quirks: Quirks) {
    without_linux(p);
    p.quirks = quirks;
    p.wire.mss = 1460;
    (p.wire.timestamp_bytes, p.wire.syn_option_bytes, p.wire.sack_on_wire) = (0, 0, false);
    p.opening.initial_window = InitialWindow::Segments(2);
    (p.opening.syn_retries, p.opening.syn_loss_restricts) = (None, false);
    p.window.cwnd_validation = CwndValidation::Off;
    p.detection.limited_transmit = false;
    p.rto.clock_granularity = Duration::from_millis(10);
    (p.rto.backoff_doublings, p.rto.retries) = (6, None);
    p.rto.initial_rto = Duration::from_secs(3);
    (p.receiver.ack_every, p.receiver.delayed_ack) = (1, Duration::from_millis(100));
    // ns-2's receivers have no window. 1 GiB is so large that it does not limit a sender in practice
    p.receiver.receive_window = ReceiveWindow::fixed(Bytes(1 << 30));
}
