//! From a connection to the application's own index.

use crate::ConnId;

/// A small ordered map. An application has a handful of connections and looks one up for every packet that arrives: a
/// binary search in one short array beats a tree, and ten thousand connections still insert in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conns(Vec<(ConnId, u32)>);

impl Conns {
    /// The index kept for `conn`.
    #[inline]
    pub(crate) fn get(&self, conn: ConnId) -> Option<usize> {
        self.0.binary_search_by_key(&conn, |e| e.0).ok().map(|i| self.0[i].1 as usize)
    }

    /// Keeps `index` for `conn`, replacing what was kept.
    pub(crate) fn insert(&mut self, conn: ConnId, index: usize) {
        match self.0.binary_search_by_key(&conn, |e| e.0) {
            Ok(i) => self.0[i].1 = index as u32,
            Err(i) => self.0.insert(i, (conn, index as u32)),
        }
    }

    /// Forgets `conn`; its index, if it was known.
    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<usize> {
        self.0.binary_search_by_key(&conn, |e| e.0).ok().map(|i| self.0.remove(i).1 as usize)
    }
}
