//! For each term, where it occurs and how much it says there. The weight of an occurrence does not depend on the query,
//! so it is worked out once, when the catalogue changes.

/// Marks an occurrence in a name; the other bits number the document.
const IN_NAME: u32 = 1 << 31;

/// Occurrences of all terms, one block after the other.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// Where each term's occurrences end.
    ends: Vec<u32>,
    occurrences: Vec<Occurrence>,
    /// How many documents there are to occur in.
    documents: usize,
}

/// One term in one document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occurrence {
    place: u32,
    /// Between 0 and 1: how much of what the term could say it says here.
    pub(super) impact: f32,
}

impl Occurrence {
    pub(super) fn document(self) -> usize {
        (self.place & !IN_NAME) as usize
    }

    pub(super) fn is_in_name(self) -> bool {
        self.place & IN_NAME != 0
    }
}

/// An occurrence on its way into the postings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) term: u32,
    pub(super) document: u32,
    pub(super) impact: f32,
    pub(super) in_name: bool,
}

impl Postings {
    /// Takes occurrences in any order, each term at most once a document.
    pub(super) fn collect(found: &[Found], terms: usize, documents: usize) -> Self {
        let mut ends = vec![0_u32; terms];
        for each in found {
            if let Some(count) = ends.get_mut(each.term as usize) {
                *count += 1;
            }
        }
        let mut next = 0;
        let mut starts = Vec::with_capacity(terms);
        for end in &mut ends {
            starts.push(next);
            next += *end;
            *end = next;
        }
        let mut occurrences = vec![
            Occurrence {
                place: 0,
                impact: 0.0
            };
            found.len()
        ];
        for each in found {
            let Some(at) = starts.get_mut(each.term as usize) else {
                continue;
            };
            if let Some(slot) = occurrences.get_mut(*at as usize) {
                let place = each.document | if each.in_name { IN_NAME } else { 0 };
                *slot = Occurrence {
                    place,
                    impact: each.impact,
                };
            }
            *at += 1;
        }
        Self {
            ends,
            occurrences,
            documents,
        }
    }

    pub(super) fn documents(&self) -> usize {
        self.documents
    }

    pub(super) fn of(&self, term: usize) -> &[Occurrence] {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or_default() as usize;
        let start = if term == 0 { 0 } else { end(term - 1) };
        self.occurrences.get(start..end(term)).unwrap_or_default()
    }

    /// How rare a term is (BM25's inverse document frequency); zero where it does not occur.
    pub(super) fn rarity(&self, term: usize) -> f32 {
        let count = self.of(term).len();
        if count == 0 {
            return 0.0;
        }
        self.rarity_of_count(count as f32)
    }

    /// How rare a thing is that goes by any of `terms`, each counted as far as it is worth.
    pub(super) fn pooled_rarity<'term>(
        &self,
        terms: impl Iterator<Item = &'term (usize, f32)>,
    ) -> f32 {
        let counts = terms.map(|(term, worth)| worth * self.of(*term).len() as f32);
        self.rarity_of_count(counts.sum())
    }

    fn rarity_of_count(&self, count: f32) -> f32 {
        let all = self.documents as f32;
        ((all - count.min(all) + 0.5) / (count.min(all) + 0.5)).ln_1p()
    }
}
