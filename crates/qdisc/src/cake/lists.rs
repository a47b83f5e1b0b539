//! Linked lists of queues.
//!
//! The links are in one small table of neighbours, so a queue joins or leaves a list without access to the data of other
//! queues.

use super::table::Table;

/// No queue.
pub(crate) const NONE: u16 = u16::MAX;

/// For each queue, its two neighbours in the list that the queue is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links(Table<Neighbours>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Neighbours {
    before: u16,
    behind: u16,
}

impl Links {
    /// Returns the queue behind `i`, or [`NONE`].
    #[inline]
    pub(crate) fn behind(&self, i: u16) -> u16 {
        self.0[i].behind
    }
}

/// A doubly linked list of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueList {
    /// The first queue, or [`NONE`].
    pub head: u16,
    tail: u16,
}

impl QueueList {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// Appends queue `i`, which is in no list.
    #[inline]
    pub(crate) fn push(&mut self, i: u16, links: &mut Links) {
        links.0[i] = Neighbours { before: self.tail, behind: NONE };
        match self.tail {
            NONE => self.head = i,
            tail => links.0[tail].behind = i,
        }
        self.tail = i;
    }

    /// Removes queue `i` from the list. The queue must be in this list.
    #[inline]
    pub(crate) fn remove(&mut self, i: u16, links: &mut Links) {
        let Neighbours { before, behind } = links.0[i];
        match before {
            NONE => self.head = behind,
            b => links.0[b].behind = behind,
        }
        match behind {
            NONE => self.tail = before,
            b => links.0[b].before = before,
        }
    }

    /// Makes queue `i`, which is in this list, the head. The queues before it move to the end, in the same order.
    #[inline]
    pub(crate) fn rotate(&mut self, i: u16, links: &mut Links) {
        if i == self.head {
            return;
        }
        let last = links.0[i].before;
        links.0[self.head].before = self.tail;
        links.0[self.tail].behind = self.head;
        (self.head, self.tail) = (i, last);
        links.0[i].before = NONE;
        links.0[last].behind = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_leave_from_anywhere() {
        let (mut links, mut list) = (Links::default(), QueueList::EMPTY);
        let order = |list: &QueueList, links: &Links| {
            std::iter::successors(Some(list.head), |i| Some(links.behind(*i)))
                .take_while(|i| *i != NONE)
                .collect::<Vec<_>>()
        };
        (0..5).for_each(|i| list.push(i, &mut links));
        for (leaves, left) in [(2, vec![0, 1, 3, 4]), (0, vec![1, 3, 4]), (4, vec![1, 3])] {
            list.remove(leaves, &mut links);
            assert_eq!(order(&list, &links), left);
        }
        list.push(2, &mut links);
        assert_eq!(order(&list, &links), [1, 3, 2]);
        list.rotate(2, &mut links);
        assert_eq!(order(&list, &links), [2, 1, 3]);
        list.rotate(2, &mut links);
        list.remove(3, &mut links);
        list.push(3, &mut links);
        assert_eq!(order(&list, &links), [2, 1, 3]);
        list.rotate(3, &mut links);
        assert_eq!(order(&list, &links), [3, 2, 1]);
        [1, 3, 2].iter().for_each(|i| list.remove(*i, &mut links));
        assert_eq!(list, QueueList::EMPTY);
    }
}
