//! Tables of a trace, in columns, handed over in chunks.
//!
//! [`Readings`] makes a table of probe readings: a row is a reading, a column a value by its name and unit. Laws report
//! different values, so a table has every column that any law has; cells without a value are empty. [`Fates`] makes a table of
//! records: a row is what happened to a packet.
//!
//! A table that reaches `CHUNK_ROWS` rows is handed over and restarts empty, so memory stays at a few chunks whatever the length
//! of the run. The receiver of a chunk owns its columns.

use crate::{Record, Whose};
use packet::{DropReason, MarkReason, Point, Unit, Value};
use units::Time;

/// The values of one column. Every kind has its own null.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Numbers; null is NaN.
    F64(Vec<f64>),
    /// Whole numbers; null is `u64::MAX`.
    U64(Vec<u64>),
    /// 0, 1, and 2 for null.
    Flag(Vec<u8>),
    /// Indices into a list of words; null is `u16::MAX`.
    Word(Vec<u16>, Vec<String>),
}

/// No word.
pub const NO_WORD: u16 = u16::MAX;

impl Data {
    /// Number of rows.
    fn len(&self) -> usize {
        match self {
            Self::F64(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::Flag(v) => v.len(),
            Self::Word(v, _) => v.len(),
        }
    }
    /// Appends nulls up to `rows` rows.
    fn pad(&mut self, rows: usize) {
        match self {
            Self::F64(v) => v.resize(rows, f64::NAN),
            Self::U64(v) => v.resize(rows, u64::MAX),
            Self::Flag(v) => v.resize(rows, 2),
            Self::Word(v, _) => v.resize(rows, NO_WORD),
        }
    }
    /// Keeps the first `rows` rows.
    fn cut(&mut self, rows: usize) {
        match self {
            Self::F64(v) => v.truncate(rows),
            Self::U64(v) => v.truncate(rows),
            Self::Flag(v) => v.truncate(rows),
            Self::Word(v, _) => v.truncate(rows),
        }
    }
    /// An empty column of this kind.
    fn emptied(&self) -> Self {
        match self {
            Self::F64(_) => Self::F64(Vec::new()),
            Self::U64(_) => Self::U64(Vec::new()),
            Self::Flag(_) => Self::Flag(Vec::new()),
            Self::Word(_, words) => Self::Word(Vec::new(), words.clone()),
        }
    }
}

/// A named column. Its name ends in its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub data: Data,
}

/// Some rows of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The table.
    pub table: &'static str,
    /// Columns of equal length. Later chunks of a table may have more of them.
    pub columns: Vec<Column>,
}

impl Chunk {
    /// Number of rows.
    #[cfg(test)]
    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.data.len())
    }
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Data> {
        self.columns.iter().find(|c| c.name == name).map(|c| &c.data)
    }
}

/// Rows per chunk: some 5 MB per table.
const CHUNK_ROWS: usize = 65_536;

/// A table of readings under construction.
#[derive(Clone, Debug)]
pub struct Readings {
    table: &'static str,
    rows: usize,
    columns: Vec<Column>,
    /// The column where the next value probably belongs: a probe reports its values in a fixed order.
    next: usize,
}

impl Readings {
    /// An empty table.
    pub fn new(table: &'static str) -> Self {
        Self { table, rows: 0, columns: Vec::new(), next: 0 }
    }

    /// Returns true if there are enough rows to be handed over.
    pub fn is_full(&self) -> bool {
        self.rows >= CHUNK_ROWS
    }

    /// Begins a row; [`Readings::end`] completes it.
    pub fn begin(&mut self) {
        self.next = 0;
    }

    /// Adds a value to the row. A second value of the same name is ignored.
    pub fn put(&mut self, name: &str, unit: Unit, value: Value<'_>) {
        let suffix = unit.suffix();
        let is = |c: &Column| c.name.strip_suffix(suffix) == Some(name);
        let at = match self.columns.get(self.next) {
            Some(c) if is(c) => self.next,
            _ => self.columns.iter().position(is).unwrap_or_else(|| {
                let data = match value {
                    Value::Number(_) => Data::F64(Vec::new()),
                    Value::Flag(_) => Data::Flag(Vec::new()),
                    Value::Word(_) => Data::Word(Vec::new(), Vec::new()),
                };
                self.columns.push(Column { name: format!("{name}{suffix}"), data });
                self.columns.len() - 1
            }),
        };
        self.next = at + 1;
        let data = &mut self.columns[at].data;
        if data.len() > self.rows {
            return;
        }
        data.pad(self.rows);
        match (data, value) {
            (Data::F64(v), Value::Number(x)) => v.push(x.unwrap_or(f64::NAN)),
            (Data::F64(v), Value::Flag(so)) => v.push(so.into()),
            (Data::Flag(v), Value::Flag(so)) => v.push(so.into()),
            (Data::Word(v, words), Value::Word(word)) => v.push(place(words, word)),
            // another law of the table uses this name for a value of another kind
            (other, _) => other.pad(self.rows + 1),
        }
    }

    /// Discards the row.
    pub fn abandon(&mut self) {
        for column in &mut self.columns {
            column.data.cut(self.rows);
        }
    }

    /// Completes the row.
    pub fn end(&mut self) {
        self.rows += 1;
        for column in &mut self.columns {
            column.data.pad(self.rows);
        }
    }

    /// Takes the rows so far; the table restarts empty with the same columns.
    pub fn take(&mut self) -> Option<Chunk> {
        if self.rows == 0 {
            return None;
        }
        self.rows = 0;
        let fresh = self.columns.iter().map(|c| Column { name: c.name.clone(), data: c.data.emptied() }).collect();
        Some(Chunk { table: self.table, columns: std::mem::replace(&mut self.columns, fresh) })
    }
}

/// The index of `word` in `words`; appends it if missing.
fn place(words: &mut Vec<String>, word: &str) -> u16 {
    let at = words.iter().position(|w| w == word).unwrap_or_else(|| {
        words.push(word.to_owned());
        words.len() - 1
    });
    u16::try_from(at).unwrap_or(NO_WORD)
}

/// What became of a packet, in the order of [`FATES`].
const FATES: [&str; 5] = ["enqueued", "dequeued", "dropped", "marked", "delivered"];
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];
const POINTS: [&str; 2] = ["enqueue", "dequeue"];

/// A table of what became of packets, under construction.
#[derive(Clone, Debug, Default)]
pub struct Fates {
    links: Vec<String>,
    apps: Vec<String>,
    t_s: Vec<f64>,
    fate: Vec<u16>,
    link: Vec<u16>,
    app: Vec<u16>,
    flow: Vec<u64>,
    connection: Vec<u64>,
    direction: Vec<u16>,
    seq: Vec<u64>,
    size: Vec<u64>,
    backlog_packets: Vec<u64>,
    backlog_bytes: Vec<u64>,
    sojourn_ms: Vec<f64>,
    delay_ms: Vec<f64>,
    reason: Vec<u16>,
    point: Vec<u16>,
}

/// The columns that only some fates have.
struct Rest {
    backlog: (u64, u64),
    sojourn_ms: f64,
    delay_ms: f64,
    reason: u16,
    point: u16,
}

const REST: Rest =
    Rest { backlog: (u64::MAX, u64::MAX), sojourn_ms: f64::NAN, delay_ms: f64::NAN, reason: NO_WORD, point: NO_WORD };

impl Fates {
    /// An empty table of these links and applications, by number.
    pub fn new(links: Vec<String>, apps: Vec<String>) -> Self {
        Self { links, apps, ..Self::default() }
    }

    /// Returns true if there are enough rows to be handed over.
    pub fn is_full(&self) -> bool {
        self.t_s.len() >= CHUNK_ROWS
    }

    /// Adds a row, if the record is of a packet. Units: those of the columns.
    pub fn put(&mut self, now: Time, record: &Record, whose: Whose) {
        let ms = |d: units::Duration| d.millis();
        let (fate, link, reverse, seq, size, rest) = match *record {
            Record::Enqueued { link, reverse, seq, size, backlog_packets, backlog_bytes, .. } => {
                (0, link.0, reverse, seq, size, Rest { backlog: (backlog_packets.into(), backlog_bytes), ..REST })
            }
            Record::Dequeued { link, reverse, seq, size, backlog_packets, sojourn, .. } => {
                let rest = Rest { backlog: (backlog_packets.into(), u64::MAX), sojourn_ms: ms(sojourn), ..REST };
                (1, link.0, reverse, seq, size, rest)
            }
            Record::Dropped { link, reverse, seq, size, reason, point, sojourn, .. } => {
                let rest = Rest { reason: reason as u16, point: point as u16, sojourn_ms: ms(sojourn), ..REST };
                (2, link.0, reverse, seq, size, rest)
            }
            Record::Marked { link, reverse, seq, size, reason, point, .. } => {
                let reason = DropReason::ALL.len() as u16 + reason as u16;
                (3, link.0, reverse, seq, size, Rest { reason, point: point as u16, ..REST })
            }
            Record::Delivered { reverse, seq, size, delay, .. } => {
                (4, NO_WORD, reverse, seq, size, Rest { delay_ms: ms(delay), ..REST })
            }
            Record::Sender { .. } => return,
        };
        self.t_s.push(now.secs());
        self.fate.push(fate);
        self.link.push(link);
        self.app.push(whose.app);
        self.flow.push(whose.flow.into());
        self.connection.push(whose.connection.into());
        self.direction.push(reverse.into());
        self.seq.push(seq);
        self.size.push(size.into());
        self.backlog_packets.push(rest.backlog.0);
        self.backlog_bytes.push(rest.backlog.1);
        self.sojourn_ms.push(rest.sojourn_ms);
        self.delay_ms.push(rest.delay_ms);
        self.reason.push(rest.reason);
        self.point.push(rest.point);
    }

    /// Takes the rows so far; the table restarts empty.
    pub fn take(&mut self) -> Option<Chunk> {
        if self.t_s.is_empty() {
            return None;
        }
        let full = std::mem::replace(self, Self::new(self.links.clone(), self.apps.clone()));
        let words = |of: &[&str]| of.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let marks = [MarkReason::Law, MarkReason::Step].map(MarkReason::name);
        let reasons: Vec<&str> = DropReason::ALL.iter().map(|r| r.name()).chain(marks).collect();
        debug_assert!(Point::Enqueue as u16 == 0 && MarkReason::Law as u16 == 0, "codes are places in lists");
        let columns = [
            ("t_s", Data::F64(full.t_s)),
            ("fate", Data::Word(full.fate, words(&FATES))),
            ("link", Data::Word(full.link, full.links)),
            ("app", Data::Word(full.app, full.apps)),
            ("flow", Data::U64(full.flow)),
            ("connection", Data::U64(full.connection)),
            ("direction", Data::Word(full.direction, words(&DIRECTIONS))),
            ("seq", Data::U64(full.seq)),
            ("size_bytes", Data::U64(full.size)),
            ("backlog_packets", Data::U64(full.backlog_packets)),
            ("backlog_bytes", Data::U64(full.backlog_bytes)),
            ("sojourn_ms", Data::F64(full.sojourn_ms)),
            ("delay_ms", Data::F64(full.delay_ms)),
            ("reason", Data::Word(full.reason, words(&reasons))),
            ("point", Data::Word(full.point, words(&POINTS))),
        ];
        let columns = columns.into_iter().map(|(name, data)| Column { name: name.to_owned(), data }).collect();
        Some(Chunk { table: "packets", columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_table_has_the_columns_of_all_its_rows() {
        let mut table = Readings::new("links");
        let mut row = |values: &[(&str, Unit, Value<'_>)]| {
            table.begin();
            values.iter().for_each(|(name, unit, value)| table.put(name, *unit, *value));
            table.end();
        };
        let (one, ms) = (Unit::One, Unit::Milliseconds);
        row(&[("count", one, Value::Number(Some(3.0))), ("dropping", one, Value::Flag(true))]);
        // another law: no count, and a delay; a name twice counts once
        row(&[
            ("qdelay", ms, Value::Number(None)),
            ("mode", one, Value::Word("drain")),
            ("mode", one, Value::Word("x")),
        ]);
        row(&[("count", one, Value::Number(Some(4.0))), ("dropping", one, Value::Flag(false))]);
        let chunk = table.take().unwrap();
        let names: Vec<&str> = chunk.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["count", "dropping", "qdelay_ms", "mode"]);
        let numbers = |name: &str| match chunk.column(name) {
            Some(Data::F64(v)) => v.iter().map(|x| x.to_string()).collect::<Vec<_>>(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(numbers("count"), ["3", "NaN", "4"]);
        assert_eq!(numbers("qdelay_ms"), ["NaN", "NaN", "NaN"]);
        assert_eq!(chunk.column("dropping"), Some(&Data::Flag(vec![1, 2, 0])));
        let mode = Data::Word(vec![NO_WORD, 0, NO_WORD], vec!["drain".to_owned()]);
        assert_eq!(chunk.column("mode"), Some(&mode));
        // it begins anew with the same columns, and hands over nothing twice
        assert!(table.take().is_none());
        table.begin();
        table.put("mode", one, Value::Word("startup"));
        table.end();
        let next = table.take().unwrap();
        assert_eq!((next.rows(), next.columns.len()), (1, 4));
        assert_eq!(next.column("mode"), Some(&Data::Word(vec![1], vec!["drain".to_owned(), "startup".to_owned()])));
    }

    #[test]
    fn every_fate_is_a_row() {
        let mut table = Fates::new(vec!["a".into(), "b".into(), "up".into()], vec!["ftp".into()]);
        let whose = Whose { app: 0, flow: 4, connection: 9 };
        samples().iter().for_each(|record| table.put(Time(7_000_000_000), record, whose));
        let chunk = table.take().unwrap();
        assert_eq!((chunk.rows(), chunk.columns.len()), (5, 15));
        let words = |name: &str| match chunk.column(name) {
            Some(Data::Word(codes, words)) => {
                codes.iter().map(|c| words.get(usize::from(*c)).map_or("-", String::as_str)).collect::<Vec<_>>()
            }
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(words("fate"), FATES);
        assert_eq!(words("link"), ["up", "up", "up", "up", "-"]);
        assert_eq!(words("reason"), ["-", "-", "early_head", "law", "-"]);
        assert_eq!(words("point"), ["-", "-", "dequeue", "enqueue", "-"]);
        assert_eq!(words("app"), ["ftp"; 5]);
        assert_eq!(chunk.column("connection"), Some(&Data::U64(vec![9; 5])));
        assert_eq!(chunk.column("seq"), Some(&Data::U64(vec![2896; 5])));
        assert!(table.take().is_none());
    }

    #[test]
    fn a_full_table_says_so() {
        let mut table = Fates::default();
        let record = samples()[0];
        (0..CHUNK_ROWS).for_each(|_| {
            assert!(!table.is_full());
            table.put(Time(1), &record, Whose::default());
        });
        assert!(table.is_full());
        assert_eq!(table.take().unwrap().rows(), CHUNK_ROWS);
        assert!(!table.is_full());
    }
}
