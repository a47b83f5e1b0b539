//! A map from each connection to the application's state for it.

use crate::ConnId;

/// A small ordered map. An application usually has only a few connections, and looks up a connection for every packet
/// that arrives. For this, binary search in a short array is faster than a tree. Even with ten thousand connections, an
/// insertion takes only microseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conns<T>(Vec<(ConnId, T)>);

impl<T> Default for Conns<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Conns<T> {
    #[inline]
    fn find(&self, conn: ConnId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&conn, |e| e.0)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut T> {
        self.find(conn).ok().map(|i| &mut self.0[i].1)
    }

    pub(crate) fn insert(&mut self, conn: ConnId, state: T) {
        match self.find(conn) {
            Ok(i) => self.0[i].1 = state,
            Err(i) => self.0.insert(i, (conn, state)),
        }
    }

    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<T> {
        self.find(conn).ok().map(|i| self.0.remove(i).1)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|e| &e.1)
    }
}

impl<T: Copy> Conns<T> {
    #[inline]
    pub(crate) fn get(&self, conn: ConnId) -> Option<T> {
        self.find(conn).ok().map(|i| self.0[i].1)
    }
}
