//! Maps a connection to the application's own index.

use crate::ConnId;

/// A small ordered map. An application has a handful of connections and looks one up for every packet that arrives:
/// binary search in a short array is faster than a tree, and with ten thousand connections insertion still takes
/// microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conns(Vec<(ConnId, u32)>);

impl Conns {
    /// Returns the index of `conn`.
    #[inline]
    pub(crate) fn get(&self, conn: ConnId) -> Option<usize> {
        self.0.binary_search_by_key(&conn, |e| e.0).ok().map(|i| self.0[i].1 as usize)
    }

    /// Stores `index` for `conn`, replacing an earlier one.
    pub(crate) fn insert(&mut self, conn: ConnId, index: usize) {
        match self.0.binary_search_by_key(&conn, |e| e.0) {
            Ok(i) => self.0[i].1 = index as u32,
            Err(i) => self.0.insert(i, (conn, index as u32)),
        }
    }

    /// Removes `conn`; returns its index, if it was present.
    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<usize> {
        self.0.binary_search_by_key(&conn, |e| e.0).ok().map(|i| self.0.remove(i).1 as usize)
    }
}
