//! Tables of a trace, stored in columns and delivered in chunks.
//!
//! [`ReadingTable`] is a table of probe readings: a row is a reading of one link, queue or sender, and a column is named
//! after a value and its unit. Algorithms report different values, so a table has the columns of all algorithms, with
//! nulls where an algorithm does not report a value. [`FateTable`] is a table of records: a row is an event in the life
//! of a packet.
//!
//! When a table reaches `CHUNK_ROWS` rows, the rows are delivered as a chunk, and the table is empty again. So memory
//! is limited to a few chunks, however long the run is. The receiver of a chunk owns its columns.

use crate::{FlowOwner, Record};
use packet::{DropReason, MarkReason, Point, Unit, Value};
use units::Time;

/// A column's values. Each type has its own null.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Numbers; null is NaN.
    F64(Vec<f64>),
    /// Whole numbers; null is `u64::MAX`.
    U64(Vec<u64>),
    /// Flags: 0 or 1, and 2 for null.
    Flag(Vec<u8>),
    /// Indices into a list of words; null is [`NO_WORD`].
    Word(Vec<u16>, Vec<String>),
}

/// The index that stands for null in a column of words.
pub const NO_WORD: u16 = u16::MAX;

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::F64(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::Flag(v) => v.len(),
            Self::Word(v, _) => v.len(),
        }
    }
    /// Appends nulls until the column has `rows` rows.
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
    /// Returns an empty column of this type. A column of words keeps its list of words.
    fn emptied(&self) -> Self {
        match self {
            Self::F64(_) => Self::F64(Vec::new()),
            Self::U64(_) => Self::U64(Vec::new()),
            Self::Flag(_) => Self::Flag(Vec::new()),
            Self::Word(_, words) => Self::Word(Vec::new(), words.clone()),
        }
    }
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The column's name, which ends in its unit if it has one.
    pub name: String,
    /// The column's values.
    pub data: Data,
}

/// Consecutive rows of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Name of the table.
    pub table: &'static str,
    /// Columns of equal length. Later chunks of a table may have more columns.
    pub columns: Vec<Column>,
}

impl Chunk {
    #[cfg(test)]
    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.data.len())
    }
    /// Returns the column of this name.
    pub fn column(&self, name: &str) -> Option<&Data> {
        self.columns.iter().find(|c| c.name == name).map(|c| &c.data)
    }
}

/// Number of rows after which a table is delivered as a chunk. A chunk of packet records then takes 5.5 MB.
const CHUNK_ROWS: usize = 65_536;

/// A table of readings under construction.
#[derive(Clone, Debug)]
pub struct ReadingTable {
    table: &'static str,
    rows: usize,
    columns: Vec<Column>,
    /// Index of the column in which the next value is expected: probes usually report their values in the same order.
    next: usize,
}

impl ReadingTable {
    /// Returns an empty table.
    pub fn new(table: &'static str) -> Self {
        Self { table, rows: 0, columns: Vec::new(), next: 0 }
    }

    /// Returns true if the table has enough rows for a chunk.
    pub fn is_full(&self) -> bool {
        self.rows >= CHUNK_ROWS
    }

    /// Begins a row; [`ReadingTable::end`] completes it.
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
            // an earlier reading reported a value of a different type under this name, and the column cannot hold this value
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

    /// Returns the rows that were added since the last call, and removes them from the table; `None` if there are no
    /// rows. The table keeps its columns.
    pub fn take(&mut self) -> Option<Chunk> {
        if self.rows == 0 {
            return None;
        }
        self.rows = 0;
        Some(Chunk { table: self.table, columns: take(&mut self.columns) })
    }
}

/// Takes the columns, and leaves empty columns in their place.
fn take(columns: &mut Vec<Column>) -> Vec<Column> {
    let empty = columns.iter().map(|c| Column { name: c.name.clone(), data: c.data.emptied() }).collect();
    std::mem::replace(columns, empty)
}

/// Returns the index of `word` in `words`; appends `word` if it is missing.
fn place(words: &mut Vec<String>, word: &str) -> u16 {
    let at = words.iter().position(|w| w == word).unwrap_or_else(|| {
        words.push(word.to_owned());
        words.len() - 1
    });
    u16::try_from(at).unwrap_or(NO_WORD)
}

/// Words of the column `fate`: what happened to the packet.
const FATES: [&str; 5] = ["enqueued", "dequeued", "dropped", "marked", "delivered"];

/// A table of packet records, under construction.
#[derive(Clone, Debug)]
pub struct FateTable {
    columns: Vec<Column>,
}

enum Cell {
    F64(f64),
    U64(u64),
    /// An index into the words of its column.
    Word(u16),
}

/// The values that only some kinds of records have. In the rows of other records, their columns contain nulls.
struct Optional {
    backlog: (u64, u64),
    sojourn_ms: f64,
    delay_ms: f64,
    reason: u16,
    point: u16,
}

const NULLS: Optional = Optional {
    backlog: (u64::MAX, u64::MAX),
    sojourn_ms: f64::NAN,
    delay_ms: f64::NAN,
    reason: NO_WORD,
    point: NO_WORD,
};

impl FateTable {
    /// Returns an empty table. `links` and `apps` are the names of the links and applications, in the order of their
    /// numbers.
    pub fn new(links: Vec<String>, apps: Vec<String>) -> Self {
        let text = |of: &[&str]| of.iter().map(|word| (*word).to_owned()).collect();
        let marks = [MarkReason::Law, MarkReason::Step].map(MarkReason::name);
        let reasons: Vec<&str> = DropReason::ALL.iter().map(|r| r.name()).chain(marks).collect();
        debug_assert!(Point::Enqueue as u16 == 0 && MarkReason::Law as u16 == 0, "codes are indices");
        let (f64s, u64s) = (Data::F64(Vec::new()), Data::U64(Vec::new()));
        let words = |words: Vec<String>| Data::Word(Vec::new(), words);
        let columns = [
            ("t_s", f64s.clone()),
            ("fate", words(text(&FATES))),
            ("link", words(links)),
            ("app", words(apps)),
            ("flow", u64s.clone()),
            ("connection", u64s.clone()),
            ("direction", words(text(&["forward", "reverse"]))),
            ("seq", u64s.clone()),
            ("size_bytes", u64s.clone()),
            ("backlog_packets", u64s.clone()),
            ("backlog_bytes", u64s),
            ("sojourn_ms", f64s.clone()),
            ("delay_ms", f64s),
            ("reason", words(text(&reasons))),
            ("point", words(text(&["enqueue", "dequeue"]))),
        ];
        Self { columns: columns.map(|(name, data)| Column { name: name.to_owned(), data }).into() }
    }

    /// Returns true if the table has enough rows for a chunk.
    pub fn is_full(&self) -> bool {
        self.columns[0].data.len() >= CHUNK_ROWS
    }

    /// Adds a row for a record of a packet; ignores all other records.
    pub fn put(&mut self, now: Time, record: &Record, owner: FlowOwner) {
        let (fate, link, packet, optional) = match *record {
            Record::Enqueued { link, packet, backlog_packets, backlog_bytes } => {
                (0, link.0, packet, Optional { backlog: (backlog_packets.into(), backlog_bytes), ..NULLS })
            }
            Record::Dequeued { link, packet, backlog_packets, sojourn } => {
                let backlog = (backlog_packets.into(), u64::MAX);
                (1, link.0, packet, Optional { backlog, sojourn_ms: sojourn.millis(), ..NULLS })
            }
            Record::Dropped { link, packet, reason, point, sojourn } => {
                let (reason, point, sojourn_ms) = (reason as u16, point as u16, sojourn.millis());
                (2, link.0, packet, Optional { reason, point, sojourn_ms, ..NULLS })
            }
            Record::Marked { link, packet, reason, point } => {
                let reason = DropReason::ALL.len() as u16 + reason as u16;
                (3, link.0, packet, Optional { reason, point: point as u16, ..NULLS })
            }
            Record::Delivered { packet, delay } => (4, NO_WORD, packet, Optional { delay_ms: delay.millis(), ..NULLS }),
            Record::Sender { .. } => return,
        };
        let row = [
            Cell::F64(now.secs()),
            Cell::Word(fate),
            Cell::Word(link),
            Cell::Word(owner.app),
            Cell::U64(owner.flow.into()),
            Cell::U64(owner.connection.into()),
            Cell::Word(packet.reverse.into()),
            Cell::U64(packet.seq),
            Cell::U64(packet.size.into()),
            Cell::U64(optional.backlog.0),
            Cell::U64(optional.backlog.1),
            Cell::F64(optional.sojourn_ms),
            Cell::F64(optional.delay_ms),
            Cell::Word(optional.reason),
            Cell::Word(optional.point),
        ];
        for (column, cell) in self.columns.iter_mut().zip(row) {
            match (&mut column.data, cell) {
                (Data::F64(v), Cell::F64(x)) => v.push(x),
                (Data::U64(v), Cell::U64(n)) => v.push(n),
                (Data::Word(v, _), Cell::Word(code)) => v.push(code),
                _ => debug_assert!(false, "{} has values of another type", column.name),
            }
        }
    }

    /// Returns the rows that were added since the last call, and removes them from the table; `None` if there are no
    /// rows.
    pub fn take(&mut self) -> Option<Chunk> {
        (self.columns[0].data.len() > 0).then(|| Chunk { table: "packets", columns: take(&mut self.columns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_table_has_the_columns_of_all_its_rows() {
        let mut table = ReadingTable::new("links");
        let mut row = |values: &[(&str, Unit, Value<'_>)]| {
            table.begin();
            values.iter().for_each(|(name, unit, value)| table.put(name, *unit, *value));
            table.end();
        };
        let (one, ms) = (Unit::One, Unit::Milliseconds);
        row(&[("count", one, Value::Number(Some(3.0))), ("dropping", one, Value::Flag(true))]);
        // this reading comes from another law, which reports no `count`, but a `qdelay`. The second value of `mode` is
        // ignored
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
        // after `take`, the table has no rows, so no row is delivered twice. It keeps its columns
        assert!(table.take().is_none());
        table.begin();
        table.put("mode", one, Value::Word("startup"));
        table.end();
        let next = table.take().unwrap();
        assert_eq!((next.rows(), next.columns.len()), (1, 4));
        assert_eq!(next.column("mode"), Some(&Data::Word(vec![1], vec!["drain".to_owned(), "startup".to_owned()])));
    }

    #[test]
    fn every_packet_record_is_a_row() {
        let mut table = FateTable::new(vec!["a".into(), "b".into(), "up".into()], vec!["ftp".into()]);
        let owner = FlowOwner { app: 0, flow: 4, connection: 9 };
        samples().iter().for_each(|record| table.put(Time(7_000_000_000), record, owner));
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
    fn a_table_is_full_at_its_chunk_size() {
        let mut table = FateTable::new(Vec::new(), Vec::new());
        let record = samples()[0];
        (0..CHUNK_ROWS).for_each(|_| {
            assert!(!table.is_full());
            table.put(Time(1), &record, FlowOwner::default());
        });
        assert!(table.is_full());
        assert_eq!(table.take().unwrap().rows(), CHUNK_ROWS);
        assert!(!table.is_full());
    }
}
