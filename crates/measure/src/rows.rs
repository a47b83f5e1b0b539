//! Maps an application's flows to rows of the tally.
//!
//! An application has one row for each parallel transfer. A flow takes the first free row and releases it when it ends. If no row
//! is free, the flow shares the last row.

/// The rows of one application.
#[derive(Clone, Debug)]
pub struct Rows {
    first: u32,
    used: Vec<bool>,
    /// All rows before this index are in use.
    full: usize,
}

impl Rows {
    /// Creates the rows of an application: `rows` free rows, the first of which is row `first` of the tally.
    pub fn new(first: usize, rows: usize) -> Self {
        Self { first: first as u32, used: vec![false; rows], full: 0 }
    }

    /// Moves the application's rows to another tally, where they begin at row `first`. Rows in use stay in use.
    #[must_use]
    pub fn moved(self, first: usize) -> Self {
        Self { first: first as u32, ..self }
    }

    /// Takes a row for a new flow, and returns it: the first free row, or the last row if none is free.
    pub fn take(&mut self) -> u32 {
        let full = self.full;
        let free = self.used[full..].iter().position(|used| !used).map(|row| full + row);
        if let Some(row) = free {
            self.used[row] = true;
        }
        self.full = free.map_or(self.used.len(), |row| row + 1);
        self.first + free.unwrap_or(self.used.len().saturating_sub(1)) as u32
    }

    /// Releases the row of a flow that has ended. If flows share the last row, the row counts as free as soon as one of
    /// them ends.
    pub fn release(&mut self, row: u32) {
        let row = (row - self.first) as usize;
        if let Some(used) = self.used.get_mut(row) {
            *used = false;
            self.full = self.full.min(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_row_or_the_last_shared() {
        let mut rows = Rows::new(10, 3);
        assert_eq!([rows.take(), rows.take(), rows.take(), rows.take()], [10, 11, 12, 12]);
        rows.release(11);
        rows.release(10);
        assert_eq!([rows.take(), rows.take(), rows.take()], [10, 11, 12]);
        // ends one of the flows that share the last row
        rows.release(12);
        assert_eq!([rows.take(), rows.take()], [12, 12]);
    }

    /// Compares `Rows` with a linear search for the first free row.
    #[test]
    fn as_by_searching_all_rows() {
        let mut rng = units::Rng::named(3, "rows");
        let mut rows = Rows::new(0, 7);
        let (mut used, mut open) = ([false; 7], Vec::new());
        for _ in 0..2000 {
            if rng.below(2) == 0 || open.is_empty() {
                let expected = used.iter().position(|u| !u).unwrap_or(6);
                used[expected] = true;
                open.push(rows.take());
                assert_eq!(open.last(), Some(&(expected as u32)));
            } else {
                let row = open.swap_remove(rng.below(open.len() as u64) as usize);
                used[row as usize] = false;
                rows.release(row);
            }
        }
    }
}
