//! A column of strings, in which most neighbours are equal.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;

/// Strings by row. Each distinct string is stored once.
#[derive(Clone, Default)]
pub struct Texts {
    /// For each row, the index of its string in `distinct`.
    rows: Vec<u32>,
    distinct: Vec<String>,
}

impl Texts {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the string of each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rows.iter().map(|i| self.distinct[*i as usize].as_str())
    }

    /// Returns two lists: the index of each row's string, and the distinct strings to which the indices refer.
    pub fn encoded(&self) -> (&[u32], &[String]) {
        (&self.rows, &self.distinct)
    }

    /// Keeps the rows for which `keep` returns true. It is called once for each row, in order.
    pub fn retain(&mut self, mut keep: impl FnMut() -> bool) {
        self.rows.retain(|_| keep());
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let (mut made, mut known) = (Self::default(), BTreeMap::new());
        for text in texts {
            let text = text.as_ref();
            let last = made.rows.last().copied().filter(|last| made.distinct[*last as usize] == text);
            let index = last.or_else(|| known.get(text).copied()).unwrap_or_else(|| {
                let index = made.distinct.len() as u32;
                known.insert(text.to_owned(), index);
                made.distinct.push(text.to_owned());
                index
            });
            made.rows.push(index);
        }
        made
    }
}

impl Index<usize> for Texts {
    type Output = str;
    fn index(&self, row: usize) -> &str {
        &self.distinct[self.rows[row] as usize]
    }
}

impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_stored_once_and_read_in_every_row() {
        let rows = ["up", "up", "down", "up", "", "down"];
        let mut texts: Texts = rows.into_iter().collect();
        assert!(texts.iter().eq(rows) && (0..6).all(|i| texts[i] == *rows[i]));
        assert_eq!(texts.encoded(), (&[0, 0, 1, 0, 2, 1][..], &["up", "down", ""].map(str::to_owned)[..]));
        assert_eq!(format!("{texts:?}"), format!("{rows:?}"));
        let mut row = 0;
        texts.retain(|| {
            row += 1;
            row % 2 == 0
        });
        // equal rows, although `texts` still stores the string "", which no row uses any more
        assert_eq!(texts, ["up", "up", "down"].into_iter().collect());
        assert_ne!(texts, ["up", "down", "down"].into_iter().collect());
    }
}
