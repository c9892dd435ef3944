//! What histories are kept in.

use std::borrow::Cow;

/// The numbers of a history, as small as they are: Keepa's own fit into half the room.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    Small(Box<[i32]>),
    Wide(Box<[i64]>),
}

impl Numbers {
    pub(super) fn new(all: &[i64]) -> Self {
        let small = all.iter().map(|number| i32::try_from(*number));
        match small.collect() {
            Ok(small) => Self::Small(small),
            Err(_) => Self::Wide(all.into()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Small(all) => all.is_empty(),
            Self::Wide(all) => all.is_empty(),
        }
    }

    pub(super) fn read(&self) -> Cow<'_, [i64]> {
        match self {
            Self::Small(all) => all.iter().copied().map(i64::from).collect(),
            Self::Wide(all) => Cow::Borrowed(all),
        }
    }
}
