//! Which stacks no connection could run with.

use crate::cc::control::Needs;
use crate::params::{
    CongestionControl, EcnFeedback, Ect, InitialWindow, LossDetection, MOST_WINDOW, Recovery, Rmem, TcpParams,
    Undo as UndoAxis,
};
use crate::undo::Undo;
use units::{Bytes, Duration, Problem};

impl TcpParams {
    /// Refuses what no connection could run with.
    ///
    /// Errors: the first field out of range, with its name and what would be valid.
    pub fn validate(&self) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        // 40 bytes of options and 20 + 20 of headers must fit beside the payload into 65535
        if !(1..=65_000).contains(&self.mss) {
            return no("mss", format!("{} is not valid; expected 1 to 65000 bytes", self.mss));
        }
        for (name, v) in [
            ("header_bytes", self.header_bytes),
            ("timestamp_bytes", self.timestamp_bytes),
            ("syn_option_bytes", self.syn_option_bytes),
        ] {
            if v > 200 {
                return no(name, format!("{v} is not valid; expected at most 200 bytes"));
            }
        }
        if u32::from(self.header_bytes) + u32::from(self.timestamp_bytes) + 36 + self.mss > 65_535 {
            return no("mss", format!("{} plus headers is more than an IP packet's 65535 bytes", self.mss));
        }
        if let InitialWindow::Segments(n) = self.initial_window
            && !(1..=1_000_000).contains(&n)
        {
            return no("initial_window", format!("{n} is not valid; expected 1 to 1000000 segments"));
        }
        if let Some(s) = self.initial_ssthresh
            && !(s >= 2.0 && s.is_finite())
        {
            return no(
                "initial_ssthresh",
                format!("{s} is not valid; expected at least 2 segments, or nothing for infinite"),
            );
        }
        if self.window_clamp == Some(0) {
            return no("window_clamp", "0 is not valid; expected at least 1 segment, or nothing".into());
        }
        for (name, v) in
            [("abc_limit", self.abc_limit), ("dupthresh", self.dupthresh.into()), ("ack_every", self.ack_every)]
        {
            if v == 0 {
                return no(name, "0 is not valid; expected at least 1".into());
            }
        }
        if !(1..=65_535).contains(&self.gso_max_segs) {
            return no("gso_max_segs", format!("{} is not valid; expected 1 to 65535 segments", self.gso_max_segs));
        }
        if self.tso && self.gso_max_segs == 1 {
            let message = "true is not valid with gso_max_segs = 1: bursts would be single segments; expected gso_max_segs = 65535, as Linux has it";
            return no("tso", message.into());
        }
        for (name, v) in [("ack_every", self.ack_every), ("quick_acks", self.quick_acks)] {
            if v > 255 {
                return no(name, format!("{v} is not valid; expected at most 255"));
            }
        }
        if let Some(b) = self.beta
            && !(0.05..=0.99).contains(&b)
        {
            return no("beta", format!("{b} is not valid; expected 0.05 to 0.99"));
        }
        if !(self.cubic_c > 0.0 && self.cubic_c <= 100.0) {
            return no("cubic_c", format!("{} is not valid; expected more than 0, at most 100", self.cubic_c));
        }
        self.ledbat.validate().map_err(|p| p.under("ledbat"))?;
        let (needs, word) = (self.controller_needs(), self.congestion_control.word());
        if needs.ack_time && !self.timestamps {
            return no("timestamps", format!("false is not valid with {word}: it measures delay with time stamps"));
        }
        if needs.rates && self.recovery != Recovery::Sack {
            return no("recovery", format!("{word} models the path from SACK; expected recovery = \"sack\""));
        }
        self.validate_ecn(needs)?;
        let word = self.loss_detection.word();
        if self.loss_detection != LossDetection::Dupthresh && self.recovery != Recovery::Sack {
            let message = format!("{word} is not valid without SACK; expected recovery = \"sack\"");
            return no("loss_detection", message);
        }
        let needs = Undo::LIVES_WITH.iter().map(|detection| detection.word()).collect::<Vec<_>>().join(" or ");
        for (name, on, is, off) in
            [("undo", self.undo != UndoAxis::None, "\"linux\"", "\"none\""), ("frto", self.frto, "true", "false")]
        {
            if on && !Undo::LIVES_WITH.contains(&self.loss_detection) {
                let with = format!("not valid with loss_detection = \"{word}\": it needs \"{needs}\"");
                return no(name, format!("{is} is {with}; expected {name} = {off}"));
            }
        }
        self.validate_timers()
    }

    fn validate_ecn(&self, needs: Needs) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        let (word, feedback) = (self.congestion_control.word(), self.ecn_feedback);
        if needs.ecn && !self.ecn {
            return no("ecn", format!("false is not valid with {word}: it answers CE marks; expected ecn = true"));
        }
        let counted = |expected: &str| {
            let said = feedback.word();
            let why = "it must be told how many were marked";
            no("ecn_feedback", format!("\"{said}\" is not valid with {word}: {why}; expected {expected}"))
        };
        match feedback {
            EcnFeedback::Accecn => {}
            _ if needs.accecn => return counted("\"accecn\""),
            EcnFeedback::Rfc3168 if needs.ecn => return counted("\"dctcp\" or \"accecn\""),
            _ if self.accecn_option => {
                return no(
                    "accecn_option",
                    "true is not valid without ecn_feedback = \"accecn\"; expected false".into(),
                );
            }
            _ => {}
        }
        if self.ect == Some(Ect::Ect0) && self.congestion_control == CongestionControl::Prague {
            let why = "its answer is to the marks of ECT(1)";
            return no("ect", format!("\"ect0\" is not valid with {word}: {why}; expected \"ect1\", or nothing"));
        }
        if let Some(b) = self.beta_ecn {
            if !matches!(self.congestion_control, CongestionControl::Reno | CongestionControl::Cubic) {
                let why = "alternative backoff is for reno and cubic";
                return no("beta_ecn", format!("{b} is not valid with {word}: {why}; expected nothing"));
            }
            if !(0.05..=0.99).contains(&b) {
                return no(
                    "beta_ecn",
                    format!("{b} is not valid; expected 0.05 to 0.99, as 0.8 for reno, 0.85 for cubic"),
                );
            }
        }
        Ok(())
    }

    fn validate_timers(&self) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        let ms = Duration::from_millis(1);
        for (name, v) in [("min_rto", self.min_rto), ("initial_rto", self.initial_rto)] {
            if v < ms || v > Duration::from_secs(3600) {
                return no(name, format!("{v} is not valid; expected 1ms to 1h"));
            }
        }
        for (name, v, least) in
            [("max_rto", self.max_rto, self.min_rto), ("max_syn_rto", self.max_syn_rto, self.initial_rto)]
        {
            if v < least || v > Duration::from_secs(86_400) {
                return no(name, format!("{v} is not valid; expected {least} to 24h"));
            }
        }
        if self.backoff_doublings > 16 {
            return no("backoff_doublings", format!("{} is not valid; expected at most 16", self.backoff_doublings));
        }
        if self.timer_tick > Duration::from_millis(100) {
            return no(
                "timer_tick",
                format!("{} is not valid; expected at most 100ms, or 0s for exact timers", self.timer_tick),
            );
        }
        if self.clock_granularity > Duration::from_secs(10) {
            return no("clock_granularity", format!("{} is not valid; expected at most 10s", self.clock_granularity));
        }
        if self.quantise_rtt && self.clock_granularity.is_zero() {
            return no("clock_granularity", "0s is not valid with quantise_rtt; expected a tick such as 10ms".into());
        }
        if (self.ack_every > 1 || self.short_segments_wait) && self.delayed_ack.is_zero() {
            let with = if self.ack_every > 1 { "ack_every above 1" } else { "short_segments_wait" };
            return no("delayed_ack", format!("0s is not valid with {with}; expected a wait such as 40ms"));
        }
        // Two segments in flight keep a connection going with every second one acknowledged.
        self.validate_window()
    }

    fn validate_window(&self) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        let segment = u64::from(self.mss);
        if !self.receive_window.is_auto() {
            let window = Bytes(self.receive_window.bound());
            if window.0 < 2 * segment || window.0 > MOST_WINDOW {
                return no("receive_window", format!("{window} is not valid; expected two segments to 2GiB"));
            }
            if self.rmem.is_some() {
                let message = "not valid with a constant receive_window; expected receive_window = \"auto\"";
                return no("rmem", message.into());
            }
            return Ok(());
        }
        // the first window is whole segments with their options, at least two, in half of the memory
        let Rmem { default, max } = self.receive_memory();
        let least = 4 * (segment + u64::from(self.timestamp_bytes));
        if least > 2 * 0xffff {
            return no("receive_window", "\"auto\" is not valid with such an mss: two segments exceed 65535".into());
        }
        if default.0 < least || default.0 > MOST_WINDOW {
            return no("rmem.default", format!("{default} is not valid; expected {least}B (four segments) to 2GiB"));
        }
        if max < default || max.0 > MOST_WINDOW {
            return no("rmem.max", format!("{max} is not valid; expected {default} (rmem.default) to 2GiB"));
        }
        Ok(())
    }
}
