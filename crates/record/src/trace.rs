//! A trace: every wanted record, in columns, handed over in chunks.
//!
//! One table for each kind of record; a row is a record. When a table has `chunk_rows` rows it is handed to the callback
//! and begins anew, so that memory stays at a few chunks whatever the length of the run. The callback owns the columns: a
//! binding can give them to numpy without a copy and Parquet is written from there.
//!
//! Every table starts with `time_ns` and `order`. `order` numbers the records of the whole trace from 0, across the tables,
//! so that what happened at one moment can be put back in its order.

use crate::{Mask, Record, Sink};
use packet::Point;
use units::Time;

/// The values of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// 64-bit numbers.
    U64(Vec<u64>),
    /// 32-bit numbers.
    U32(Vec<u32>),
    /// 16-bit numbers.
    U16(Vec<u16>),
    /// 8-bit numbers: codes (see [`Column::name`]) and booleans (0 or 1).
    U8(Vec<u8>),
}

impl Data {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::U64(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::U8(v) => v.len(),
        }
    }
    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with its unit. `reason` is a `DropReason` (or, in `marked`, a `MarkReason`) by number; `dequeue` is 1 for
    /// a decision at the head, 0 on arrival; `reverse` is 1 on the way back to the initiator.
    pub name: &'static str,
    /// Its values.
    pub data: Data,
}

/// Some rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The table: `enqueued`, `dequeued`, `dropped`, `marked`, `delivered` or `sender`.
    pub table: &'static str,
    /// Columns of equal length, always the same ones in the same order for one table.
    pub columns: Vec<Column>,
}

impl Chunk {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.data.len())
    }
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Data> {
        self.columns.iter().find(|c| c.name == name).map(|c| &c.data)
    }
}

/// A table under construction: one vector for each column, a push, and a way out.
macro_rules! tables {
    ($($table:ident $text:literal { $($column:ident: $t:ident $variant:ident,)* })*) => {
        $(
            #[derive(Clone, Debug, Default)]
            struct $table { time_ns: Vec<u64>, order: Vec<u64>, $($column: Vec<$t>,)* }

            impl $table {
                /// True when the row was the last of its chunk.
                #[inline]
                #[allow(clippy::too_many_arguments, reason = "one for each column; the macro writes the calls' signature")]
                fn push(&mut self, rows: usize, time_ns: u64, order: u64, $($column: $t),*) -> bool {
                    if self.time_ns.capacity() == 0 {
                        self.time_ns.reserve_exact(rows);
                        self.order.reserve_exact(rows);
                        $(self.$column.reserve_exact(rows);)*
                    }
                    self.time_ns.push(time_ns);
                    self.order.push(order);
                    $(self.$column.push($column);)*
                    self.time_ns.len() >= rows
                }

                fn take(&mut self) -> Chunk {
                    let full = std::mem::take(self);
                    Chunk {
                        table: $text,
                        columns: vec![
                            Column { name: "time_ns", data: Data::U64(full.time_ns) },
                            Column { name: "order", data: Data::U64(full.order) },
                            $(Column { name: stringify!($column), data: Data::$variant(full.$column) },)*
                        ],
                    }
                }
            }
        )*
    };
}

tables! {
    Enqueued "enqueued" {
        link: u16 U16, flow: u32 U32, size_bytes: u16 U16, backlog_packets: u32 U32, backlog_bytes: u64 U64,
    }
    Dequeued "dequeued" {
        link: u16 U16, flow: u32 U32, size_bytes: u16 U16, backlog_packets: u32 U32, sojourn_ns: u64 U64,
    }
    Dropped "dropped" { link: u16 U16, flow: u32 U32, size_bytes: u16 U16, reason: u8 U8, dequeue: u8 U8, }
    Marked "marked" { link: u16 U16, flow: u32 U32, reason: u8 U8, dequeue: u8 U8, }
    Delivered "delivered" { flow: u32 U32, size_bytes: u16 U16, reverse: u8 U8, delay_ns: u64 U64, }
    Sender "sender" { flow: u32 U32, reverse: u8 U8, cwnd_bytes: u32 U32, ssthresh_bytes: u32 U32, srtt_us: u32 U32, }
}

/// Rows of a chunk unless said otherwise: some 2 MB a table.
pub const CHUNK_ROWS: usize = 65_536;

/// Keeps records as columns and hands them over in chunks.
#[derive(Clone, Debug)]
pub struct Trace<F: FnMut(Chunk)> {
    mask: Mask,
    rows: usize,
    order: u64,
    enqueued: Enqueued,
    dequeued: Dequeued,
    dropped: Dropped,
    marked: Marked,
    delivered: Delivered,
    sender: Sender,
    hand_over: F,
}

impl<F: FnMut(Chunk)> Trace<F> {
    /// Wants the kinds of `mask`; gives `hand_over` a table's rows whenever there are `chunk_rows` of them (at least 1).
    pub fn new(mask: Mask, chunk_rows: usize, hand_over: F) -> Self {
        Self {
            mask,
            rows: chunk_rows.max(1),
            order: 0,
            enqueued: Enqueued::default(),
            dequeued: Dequeued::default(),
            dropped: Dropped::default(),
            marked: Marked::default(),
            delivered: Delivered::default(),
            sender: Sender::default(),
            hand_over,
        }
    }

    /// Records taken so far.
    pub fn records(&self) -> u64 {
        self.order
    }

    /// The run is over: hands over what is left, one chunk for each table that has rows.
    pub fn finish(mut self) {
        let chunks = [
            self.enqueued.take(),
            self.dequeued.take(),
            self.dropped.take(),
            self.marked.take(),
            self.delivered.take(),
            self.sender.take(),
        ];
        chunks.into_iter().filter(|c| c.rows() > 0).for_each(&mut self.hand_over);
    }
}

fn at_head(point: Point) -> u8 {
    u8::from(point == Point::Dequeue)
}

impl<F: FnMut(Chunk)> Sink for Trace<F> {
    #[inline]
    fn mask(&self) -> Mask {
        self.mask
    }

    fn put(&mut self, now: Time, record: Record) {
        let (rows, t, n) = (self.rows, now.0, self.order);
        self.order += 1;
        let full = match record {
            Record::Enqueued { link, flow, size, backlog_packets, backlog_bytes } => self
                .enqueued
                .push(rows, t, n, link.0, flow.0, size, backlog_packets, backlog_bytes)
                .then(|| self.enqueued.take()),
            Record::Dequeued { link, flow, size, backlog_packets, sojourn } => self
                .dequeued
                .push(rows, t, n, link.0, flow.0, size, backlog_packets, sojourn.0)
                .then(|| self.dequeued.take()),
            Record::Dropped { link, flow, size, reason, point } => self
                .dropped
                .push(rows, t, n, link.0, flow.0, size, reason as u8, at_head(point))
                .then(|| self.dropped.take()),
            Record::Marked { link, flow, reason, point } => {
                self.marked.push(rows, t, n, link.0, flow.0, reason as u8, at_head(point)).then(|| self.marked.take())
            }
            Record::Delivered { flow, size, reverse, delay } => {
                self.delivered.push(rows, t, n, flow.0, size, u8::from(reverse), delay.0).then(|| self.delivered.take())
            }
            Record::Sender { flow, reverse, cwnd, ssthresh, srtt_us } => self
                .sender
                .push(rows, t, n, flow.0, u8::from(reverse), cwnd, ssthresh, srtt_us)
                .then(|| self.sender.take()),
        };
        if let Some(chunk) = full {
            (self.hand_over)(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkId, samples};

    #[test]
    fn chunks_are_handed_over_when_full_and_at_the_end() {
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut trace = Trace::new(Mask::ALL, 4, |c| chunks.push(c));
        for round in 0..10 {
            for (i, record) in samples().into_iter().enumerate() {
                trace.put(Time(round * 100 + i as u64), record);
            }
        }
        assert_eq!(trace.records(), 60);
        trace.finish();
        // each of the six tables: 4 + 4 rows on the way, 2 at the end
        assert_eq!(chunks.len(), 18);
        assert!(chunks[..12].iter().all(|c| c.rows() == 4) && chunks[12..].iter().all(|c| c.rows() == 2));
        assert!(chunks.iter().all(|c| c.columns.iter().all(|col| col.data.len() == c.rows())));
        // the order column numbers all records once
        let mut order: Vec<u64> = Vec::new();
        for c in &chunks {
            let Some(Data::U64(v)) = c.column("order") else { panic!("no order") };
            order.extend(v);
        }
        order.sort_unstable();
        assert_eq!(order, (0..60).collect::<Vec<u64>>());
    }

    #[test]
    fn columns_hold_what_was_recorded() {
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut trace = Trace::new(Mask::ALL, 1, |c| chunks.push(c));
        samples().into_iter().for_each(|r| trace.put(Time(7), r));
        trace.finish();
        let tables: Vec<&str> = chunks.iter().map(|c| c.table).collect();
        assert_eq!(tables, ["enqueued", "dequeued", "dropped", "marked", "delivered", "sender"]);
        let names: Vec<&str> = chunks[1].columns.iter().map(|c| c.name).collect();
        assert_eq!(names, ["time_ns", "order", "link", "flow", "size_bytes", "backlog_packets", "sojourn_ns"]);
        assert_eq!(chunks[1].column("sojourn_ns"), Some(&Data::U64(vec![5_000_000])));
        assert_eq!(chunks[2].column("reason"), Some(&Data::U8(vec![3])));
        assert_eq!(chunks[2].column("dequeue"), Some(&Data::U8(vec![1])));
        assert_eq!(chunks[0].column("link"), Some(&Data::U16(vec![LinkId(2).0])));
        assert_eq!(chunks[5].column("reverse"), Some(&Data::U8(vec![1])));
        assert_eq!(chunks[5].column("srtt_us"), Some(&Data::U32(vec![50_000])));
        assert_eq!(chunks[5].column("nonsense"), None);
    }

    #[test]
    fn an_empty_trace_hands_over_nothing() {
        let mut n = 0;
        Trace::new(Mask::ALL, 0, |_| n += 1).finish();
        assert_eq!(n, 0);
    }
}
