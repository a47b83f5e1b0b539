//! Adaptive-bitrate video: segments are fetched one after another, each at a rate chosen before its request.
//!
//! Defaults: segments of 4 s, 30 s of buffer, and a ladder of rates from 0.35 to 8 Mbit/s. A rate is at most 0.8 times the
//! harmonic mean of the last five throughputs, except that the lowest rate is always allowed. The harmonic mean is the
//! predictor of FESTIVE (Jiang, Sekar & Zhang, CoNEXT 2012).
//!
//! ```text
//!   segment k:   GET of `request` bytes over one persistent connection; the server answers with  rate_k * segment / 8  bytes
//!   throughput   x_k = bytes * 8 / (last byte in order - GET written)
//!   rate_{k+1} = the highest rate of the ladder that is at most  safety * n / sum(1/x)  over the last n <= 5 segments;
//!                 the lowest rate for the first segment, and if no rate is low enough
//!   next GET     at once if another segment fits into `buffer`, otherwise as soon as it fits
//!   playback     begins when `startup` is buffered, or when the last segment has arrived; stalls when the buffer is empty;
//!                resumes under the same conditions
//! ```
//!
//! A segment enters the buffer when it has arrived completely. The buffer is counted in seconds of video. The video
//! ends with the last of `segments`, or with the last segment requested before the application's `stop`. Once the last
//! segment has been played, an empty buffer is no stall.

use crate::demand::times;
use crate::{Application, ConnId, Demand, Direction, Host, Params, RETRY_AFTER, Role};
use packet::{Kind, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Problem, Time};
use units::{positive, positive_or_none, require, within};

/// Number of recent throughputs whose harmonic mean predicts the throughput of the next segment.
const SAMPLES: usize = 5;
/// Maximum number of rates in a ladder.
const MAX_LADDER: usize = 64;

/// A viewer of adaptive-bitrate video from the first server. For each segment of the video, the viewer selects a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VideoParams {
    /// Length of a segment. Default 4s.
    pub segment: Duration,
    /// Rates at which each segment is available, lowest first. Default 350kbit, 600kbit, 1mbit, 1.5mbit, 2.5mbit,
    /// 4mbit, 6mbit, 8mbit.
    pub ladder: Vec<BitRate>,
    /// Largest amount of video in the buffer; at least one segment. Default 30s.
    pub buffer: Duration,
    /// Amount of video in the buffer at which playback begins, or resumes after a stall. Once the last segment has
    /// arrived, playback does not wait for this amount. Default 4s.
    pub startup: Duration,
    /// Largest rate of a segment, as a share of the predicted throughput. The prediction is the harmonic mean of the
    /// throughputs of the last five segments. The lowest rate of `ladder` is always allowed. Default 0.8.
    pub safety: f64,
    /// Size of a GET in bytes of payload. Default 300.
    pub request: Bytes,
    /// Number of segments; omitted: until the end of the run.
    pub segments: Option<u64>,
}

impl Default for VideoParams {
    fn default() -> Self {
        Self {
            segment: Duration::from_secs(4),
            ladder: [350, 600, 1000, 1500, 2500, 4000, 6000, 8000].map(|k| BitRate(k * 1000)).to_vec(),
            buffer: Duration::from_secs(30),
            startup: Duration::from_secs(4),
            safety: 0.8,
            request: Bytes(300),
            segments: None,
        }
    }
}

impl Params for VideoParams {
    type App = Video;

    fn validate(&self) -> Result<(), Problem> {
        within("segment", self.segment, Duration::from_millis(100), Duration::from_secs(60))?;
        let message = format!("{} rates given; expected 1 to {MAX_LADDER}", self.ladder.len());
        require((1..=MAX_LADDER).contains(&self.ladder.len()), "ladder", message)?;
        let message = format!("{} leaves a segment without a byte", self.ladder[0]);
        require(self.ladder[0].bytes_in(self.segment) > 0, "ladder.0", message)?;
        for (i, pair) in self.ladder.windows(2).enumerate() {
            let message = format!("{} is not above the rate before it", pair[1]);
            require(pair[0] < pair[1], &format!("ladder.{}", i + 1), message)?;
        }
        let message = format!("{} is not valid; expected at least a segment, {}", self.buffer, self.segment);
        require(self.buffer >= self.segment, "buffer", message)?;
        // before playback, segments are requested as long as another whole segment fits, so the buffer fills up to
        // `most`. If `startup` were larger, playback might never begin
        let most = Duration(self.buffer.0 / self.segment.0 * self.segment.0);
        let message = format!("{} is not valid; expected more than 0s, at most {most} (whole segments)", self.startup);
        require(!self.startup.is_zero() && self.startup <= most, "startup", message)?;
        positive("safety", self.safety)?;
        within("safety", self.safety, 0.0, 1.0)?;
        positive("request", self.request)?;
        positive_or_none("segments", self.segments)
    }

    fn demand(&self, span: Duration, round: Duration) -> Demand {
        // the viewer fetches no more than the segments played during `span` plus the segments left in the buffer at the
        // end
        let segments = times(span + self.buffer, self.segment.max(round), self.segments);
        let best = self.ladder.last().map_or(0, |rate| rate.bytes_in(self.segment));
        Demand {
            direction: Some(Direction::Down),
            connections: 1.0,
            bytes: segments * (best + self.request.0) as f64,
            pieces: segments,
        }
    }

    fn build(&self) -> Video {
        Video {
            params: self.clone(),
            conn: None,
            request_left: 0,
            left: 0,
            requested_at: Time::ZERO,
            busy: false,
            next_request: None,
            rung: 0,
            throughputs: VecDeque::new(),
            player: Player::default(),
            done: 0,
            sum_of_rates: 0,
            switches: 0,
        }
    }
}

/// The buffer and its playback. Both are advanced to the current time only when they are read or changed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Player {
    /// Amount of video buffered at `since`.
    level: Duration,
    since: Time,
    playing: bool,
    /// Start of the application.
    start: Time,
    /// Time from the start to the first picture.
    startup: Option<Duration>,
    stalls: u64,
    stalled: Duration,
    /// True if no more video will arrive. Then an empty buffer means that the video has ended.
    complete: bool,
}

impl Player {
    /// Advances the state to `now`. If a segment arrives at the very moment at which the buffer becomes empty, playback
    /// does not stall.
    fn advance(&mut self, now: Time) {
        let passed = now.since(self.since);
        if self.playing {
            if passed > self.level && !self.complete {
                self.playing = false;
                self.stalls += 1;
                self.stalled += passed - self.level;
            }
            self.level = self.level.saturating_sub(passed);
        } else if self.startup.is_some() && !self.complete {
            self.stalled += passed;
        }
        self.since = now;
    }

    /// Begins or resumes playback if at least `threshold` is buffered, or if the video is complete and not all played.
    fn play(&mut self, threshold: Duration) {
        if !self.playing && !self.level.is_zero() && (self.level >= threshold || self.complete) {
            self.playing = true;
            self.startup.get_or_insert(self.since.since(self.start));
        }
    }
}

/// The application with [`VideoParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    params: VideoParams,
    conn: Option<ConnId>,
    /// Bytes of the GET that have not yet arrived at the server.
    request_left: u64,
    /// Bytes of the segment that have not yet arrived at the client.
    left: u64,
    /// Time at which the GET was written.
    requested_at: Time,
    /// True if a segment has been requested and has not completely arrived.
    busy: bool,
    /// Time of the timer for the next request; `None` while no timer is set.
    next_request: Option<Time>,
    /// Index of the segment's rate in the ladder.
    rung: usize,
    /// Throughputs of the most recent segments in bit/s, newest last.
    throughputs: VecDeque<f64>,
    player: Player,
    /// Number of segments received.
    done: u64,
    /// Sum of the rates of the segments received.
    sum_of_rates: u128,
    switches: u64,
}

impl Video {
    fn bytes(&self) -> u64 {
        self.params.ladder[self.rung].bytes_in(self.params.segment)
    }

    /// Returns the index of the highest rate that is at most `safety` times the harmonic mean of the recent
    /// throughputs. If there is no such rate, or no throughput yet, returns 0, the lowest rate.
    fn choose(&self) -> usize {
        if self.throughputs.is_empty() {
            return 0;
        }
        let inverse: f64 = self.throughputs.iter().map(|x| 1.0 / x).sum();
        let limit = self.params.safety * self.throughputs.len() as f64 / inverse;
        self.params.ladder.iter().rposition(|r| r.0 as f64 <= limit).unwrap_or(0)
    }

    /// Requests the next segment or, if the connection was lost during a segment, the same segment again.
    fn request<H: Host>(&mut self, host: &mut H) {
        if !self.busy {
            let rung = self.choose();
            self.switches += u64::from(self.done > 0 && rung != self.rung);
            self.rung = rung;
        }
        self.busy = true;
        self.next_request = None;
        self.requested_at = host.now();
        self.request_left = self.params.request.0;
        self.left = self.bytes();
        let conn = match self.conn {
            Some(conn) => conn,
            None => host.open(0, 0),
        };
        self.conn = Some(conn);
        host.write(conn, Role::Client, self.request_left);
    }

    /// Sets the timer for the next request.
    fn request_at<H: Host>(&mut self, at: Time, host: &mut H) {
        self.next_request = Some(at);
        host.timer(at, 0);
    }

    fn finished<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        let now = host.now();
        self.busy = false;
        self.done += 1;
        self.sum_of_rates += u128::from(self.params.ladder[self.rung].0);
        let took = now.since(self.requested_at).max(Duration(1));
        if self.throughputs.len() == SAMPLES {
            self.throughputs.pop_front();
        }
        self.throughputs.push_back(self.bytes() as f64 * 8.0 / took.secs());
        let last = self.params.segments.is_some_and(|n| self.done >= n);
        // `complete` is set after `advance` has counted the playback up to now: once `complete` is true, `advance`
        // takes an empty buffer for the end of the video, not for a stall
        self.player.advance(now);
        self.player.complete = last;
        self.player.level += self.params.segment;
        self.player.play(self.params.startup);
        host.file_done(self.requested_at, self.bytes());
        if last {
            self.conn = None;
            host.close(conn, Role::Client);
            host.close(conn, Role::Server);
        } else {
            // playback drains the buffer in real time, so the timer fires when there is room for the next segment
            let room = self.params.buffer - self.params.segment;
            self.request_at(now + self.player.level.saturating_sub(room), host);
        }
    }
}

impl Application for Video {
    fn start<H: Host>(&mut self, host: &mut H) {
        (self.player.start, self.player.since) = (host.now(), host.now());
        self.request(host);
    }

    fn timer<H: Host>(&mut self, _: u64, host: &mut H) {
        self.request(host);
    }

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        if self.conn != Some(conn) || !self.busy {
            return;
        }
        if role == Role::Server {
            self.request_left = self.request_left.saturating_sub(bytes);
            if self.request_left == 0 {
                host.write(conn, Role::Server, self.left);
            }
        } else {
            self.left = self.left.saturating_sub(bytes);
            if self.left == 0 {
                self.finished(conn, host);
            }
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        if self.conn == Some(conn) {
            self.conn = None;
            // a segment in progress is requested again after `RETRY_AFTER`. Otherwise, the timer for the next request
            // is already set. In both cases, the request opens a new connection
            if self.busy {
                self.player.advance(host.now());
                self.request_at(host.now() + RETRY_AFTER, host);
            }
        }
    }

    const MEASURES: &'static [&'static [Measure]] = &[PLAYBACK];

    fn figures(&self, now: Time, stop: Time) -> Vec<(&'static str, f64)> {
        let mut player = self.player.clone();
        // the stop prevents the next request, so the video ends with what is buffered
        if self.next_request.is_some_and(|at| at >= stop) {
            player.complete = true;
            player.play(self.params.startup);
        }
        player.advance(now.max(player.since));
        playback(self, &player).into()
    }
}

packet::measures! {
    /// Measures of the received segments and of the playback.
    const PLAYBACK = fn playback(video: &Video, player: &Player) -> f64 {
        "segments": Kind::ONE, "segments",
            "Segments that arrived. `files` has those that arrived after the warm-up. All keys of `video` cover the whole run."
            => video.done as f64;
        "mean_bitrate_mbit": Kind::MBIT.more().rank(7), "mean bitrate", "Mean encoded rate of the segments that arrived."
            => video.sum_of_rates as f64 / video.done as f64 * 1e-6;
        "switches": Kind::ONE, "switches", "Number of times that the encoded rate changed from one segment to the next."
            => video.switches as f64;
        "startup_s": Kind::S.less().rank(6), "startup", "Time from the start to the first picture."
            => player.startup.map_or(f64::NAN, Duration::secs);
        "stalls": Kind::ONE.less().rank(4), "stalls",
            "Number of times that playback stopped because the buffer was empty." => player.stalls as f64;
        "stalled_s": Kind::S.less().rank(5), "stalled",
            "Total time of the stalls."
            => player.stalled.secs();
        "buffer_s": Kind::S, "buffer", "Video buffered at the end." => player.level.secs();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;

    fn figure(app: &Video, at: u64, name: &str) -> f64 {
        stopped(app, at, Time::NEVER, name)
    }

    /// Returns a figure of an application whose stop is `stop`.
    fn stopped(app: &Video, at: u64, stop: Time, name: &str) -> f64 {
        app.figures(Time(at), stop).into_iter().find(|f| f.0 == name).unwrap().1
    }

    #[test]
    fn the_rate_follows_the_harmonic_mean() {
        let mut v = VideoParams::default().build();
        assert_eq!(v.choose(), 0);
        // 0.8 times the harmonic mean of 2 and 8 Mbit/s is 2.56 Mbit/s, so the viewer chooses the rate of 2.5 Mbit/s.
        // From the arithmetic mean, 5 Mbit/s, the viewer would choose 4 Mbit/s
        v.throughputs = [2e6, 8e6].into();
        assert_eq!(v.params.ladder[v.choose()].0, 2_500_000);
        v.throughputs = [0.1e6].into();
        assert_eq!(v.choose(), 0);
        v.throughputs = [100e6].into();
        assert_eq!(v.choose(), 7);
    }

    #[test]
    fn a_fast_line_fills_the_buffer_and_then_fetches_a_segment_every_segment() {
        // the handshake takes 20 ms, and so does the download of each segment. At this throughput, the viewer chooses
        // the highest rate, 8 Mbit/s, from the second segment on
        let mut fake = Fake::new(&[20 * MS]);
        let mut app = VideoParams::default().build();
        fake.run(&mut app, Time(100 * S));
        // segment 0 (350 kbit/s x 4 s / 8 = 175 kB) arrives at 40 ms, and playback begins. Segments 1, 2 ... follow 20 ms apart
        // while 26 s or less is buffered. At 160 ms, 7 segments have arrived and 27.88 s is buffered. So the eighth segment
        // is requested 1.88 s later, at 2.04 s, when 26 s is left. From then on, a segment is requested every 4 s and arrives
        // 20 ms later
        assert_eq!((fake.files[0].1.0 / MS, fake.files[0].2), (40, 175_000));
        assert!(fake.files[1..].iter().all(|f| f.2 == 4_000_000));
        let starts: Vec<u64> = fake.files.iter().map(|f| f.0.0 / MS).collect();
        assert_eq!(starts[..9], [0, 40, 60, 80, 100, 120, 140, 2040, 6040]);
        assert_eq!((figure(&app, 100 * S, "stalls"), figure(&app, 100 * S, "startup_s")), (0.0, 0.04));
        assert_eq!(figure(&app, 100 * S, "switches"), 1.0);
    }

    #[test]
    fn a_slow_line_stalls_and_the_account_is_exact() {
        // The only rate is 1 Mbit/s, so a segment of 2 s is 250 kB long and arrives in 250 pieces, 12 ms apart. Its
        // download takes 10 ms for the GET, 10 ms for the first piece and 249 x 12 ms for the others: 3.008 s. The
        // first segment also waits 20 ms for the handshake. So playback begins at 3.028 s, stalls at 5.028 s and
        // resumes at 6.036 s: each segment adds 1.008 s of stalling.
        let mut fake = Fake::new(&[20 * MS]);
        (fake.piece, fake.gap) = (1000, 12 * MS);
        let params = VideoParams {
            ladder: vec![BitRate(1_000_000)],
            segment: Duration::from_secs(2),
            startup: Duration::from_secs(2),
            ..Default::default()
        };
        params.validate().unwrap();
        let mut app = params.build();
        fake.run(&mut app, Time(6 * S));
        let at = |app: &Video, t: u64, name: &str| (figure(app, t * MS, name) * 1000.0).round();
        assert_eq!((figure(&app, 6 * S, "stalls"), at(&app, 6000, "stalled_s")), (1.0, 972.0));
        let mut fake = Fake::new(&[20 * MS]);
        (fake.piece, fake.gap) = (1000, 12 * MS);
        let mut app = VideoParams { segments: Some(3), ..params }.build();
        fake.run(&mut app, Time(100 * S));
        // the buffer becomes empty after the third segment too, but because that segment is the last, this is the end
        // of the video, not a stall
        assert_eq!((figure(&app, 100 * S, "stalls"), at(&app, 100_000, "stalled_s")), (2.0, 2016.0));
        assert_eq!((figure(&app, 100 * S, "startup_s"), fake.open_now()), (3.028, 0));
    }

    #[test]
    fn after_a_stop_the_rest_is_played_and_nothing_stalls() {
        // as in the test of a slow line, a segment of 2 s arrives every 3.008 s: at 3.028 s, 6.036 s and 9.044 s. The third is
        // requested before the stop at 7 s, so the stall from 8.036 s to 9.044 s counts. At 11.044 s the video has ended
        let params = VideoParams {
            ladder: vec![BitRate(1_000_000)],
            segment: Duration::from_secs(2),
            startup: Duration::from_secs(2),
            ..Default::default()
        };
        let figures = |params: &VideoParams, stop: Time| {
            let mut fake = Fake::new(&[20 * MS]);
            (fake.piece, fake.gap, fake.stop) = (1000, 12 * MS, stop);
            let mut app = params.build();
            fake.run(&mut app, Time(100 * S));
            ["segments", "startup_s", "stalls", "stalled_s", "buffer_s"].map(|name| {
                let figure = stopped(&app, 100 * S, stop, name);
                (figure * 1000.0).round() / 1000.0
            })
        };
        assert_eq!(figures(&params, Time(7 * S)), [3.0, 3.028, 2.0, 2.016, 0.0]);
        // playback begins with the last segment, although less than `startup` is buffered
        let slow = VideoParams { startup: Duration::from_secs(6), ..params.clone() };
        assert_eq!(figures(&slow, Time(4 * S)), [2.0, 6.036, 0.0, 0.0, 0.0]);
        // with room for one segment, the second request would leave at 5.028 s, after the stop
        let full = VideoParams { buffer: Duration::from_secs(2), ..params };
        assert_eq!(figures(&full, Time(4 * S)), [1.0, 3.028, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_stop_prevents_the_retry_of_a_broken_connection() {
        // no segment arrives, because the first connection fails at 5 s and the stop at 6 s drops the retry, which is
        // due at that time
        let mut fake = Fake::new(&[20 * MS]).failing(&[0], 5 * S);
        fake.stop = Time(6 * S);
        let mut app = VideoParams::default().build();
        fake.run(&mut app, Time(100 * S));
        assert!(stopped(&app, 100 * S, fake.stop, "startup_s").is_nan());
        assert_eq!(stopped(&app, 100 * S, fake.stop, "stalls"), 0.0);
    }

    #[test]
    fn a_segment_is_requested_again_after_a_broken_connection() {
        let mut fake = Fake::new(&[20 * MS]).failing(&[0], 5 * S);
        let mut app = VideoParams { segments: Some(2), ..Default::default() }.build();
        fake.run(&mut app, Time(100 * S));
        assert_eq!(figure(&app, 100 * S, "segments"), 2.0);
        assert_eq!(fake.files[0].0, Time(6 * S));
    }

    #[test]
    fn refusals_name_the_field() {
        let bad = |p: VideoParams| p.validate().unwrap_err().path;
        let d = VideoParams::default;
        assert_eq!(bad(VideoParams { ladder: vec![], ..d() }), "ladder");
        assert_eq!(bad(VideoParams { ladder: vec![BitRate(2_000_000), BitRate(1_000_000)], ..d() }), "ladder.1");
        assert_eq!(bad(VideoParams { buffer: Duration::from_secs(3), ..d() }), "buffer");
        assert_eq!(bad(VideoParams { startup: Duration::from_secs(29), ..d() }), "startup");
        assert_eq!(bad(VideoParams { safety: 1.5, ..d() }), "safety");
        assert_eq!(bad(VideoParams { segment: Duration::ZERO, ..d() }), "segment");
    }
}
