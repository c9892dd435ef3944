//! The Amazon marketplaces Keepa covers, and the spellings people use for them.
//!
//! The list is closed because prices depend on it: a marketplace we do not know has a currency we do not know.

use std::{fmt, str::FromStr};

/// One marketplace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Domain {
    /// amazon.com
    #[default]
    Us,
    /// amazon.co.uk
    Gb,
    /// amazon.de
    De,
    /// amazon.fr
    Fr,
    /// amazon.co.jp
    Jp,
    /// amazon.ca
    Ca,
    /// amazon.it
    It,
    /// amazon.es
    Es,
    /// amazon.in
    In,
    /// amazon.com.mx
    Mx,
    /// amazon.com.br
    Br,
}

/// A spelling that names no marketplace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown Amazon domain {0:?}; use a code such as US, an id such as 1, or a host such as amazon.de"
)]
pub struct UnknownDomain(pub String);

impl Domain {
    /// All of them, by id.
    pub const ALL: [Self; 11] = [
        Self::Us,
        Self::Gb,
        Self::De,
        Self::Fr,
        Self::Jp,
        Self::Ca,
        Self::It,
        Self::Es,
        Self::In,
        Self::Mx,
        Self::Br,
    ];

    /// The number the API wants. There is no 7: that was amazon.cn.
    pub const fn id(self) -> u8 {
        match self {
            Self::Us => 1,
            Self::Gb => 2,
            Self::De => 3,
            Self::Fr => 4,
            Self::Jp => 5,
            Self::Ca => 6,
            Self::It => 8,
            Self::Es => 9,
            Self::In => 10,
            Self::Mx => 11,
            Self::Br => 12,
        }
    }

    /// Two upper-case letters.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Us => "US",
            Self::Gb => "GB",
            Self::De => "DE",
            Self::Fr => "FR",
            Self::Jp => "JP",
            Self::Ca => "CA",
            Self::It => "IT",
            Self::Es => "ES",
            Self::In => "IN",
            Self::Mx => "MX",
            Self::Br => "BR",
        }
    }

    /// What follows `amazon.` in the host name.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Us => "com",
            Self::Gb => "co.uk",
            Self::De => "de",
            Self::Fr => "fr",
            Self::Jp => "co.jp",
            Self::Ca => "ca",
            Self::It => "it",
            Self::Es => "es",
            Self::In => "in",
            Self::Mx => "com.mx",
            Self::Br => "com.br",
        }
    }

    /// The currency of its prices, as ISO 4217 has it.
    pub const fn currency(self) -> &'static str {
        match self {
            Self::Us => "USD",
            Self::Gb => "GBP",
            Self::De | Self::Fr | Self::It | Self::Es => "EUR",
            Self::Jp => "JPY",
            Self::Ca => "CAD",
            Self::In => "INR",
            Self::Mx => "MXN",
            Self::Br => "BRL",
        }
    }

    /// How many of the smallest unit make one of the currency: a yen has no hundredths.
    pub const fn minor_units(self) -> i64 {
        match self {
            Self::Jp => 1,
            Self::Us
            | Self::Gb
            | Self::De
            | Self::Fr
            | Self::Ca
            | Self::It
            | Self::Es
            | Self::In
            | Self::Mx
            | Self::Br => 100,
        }
    }

    /// The marketplace with this number.
    pub fn from_id(id: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|one| i64::from(one.id()) == id)
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Domain {
    type Err = UnknownDomain;

    fn from_str(text: &str) -> Result<Self, UnknownDomain> {
        let lower = text.trim().to_ascii_lowercase();
        let host = lower.strip_prefix("www.").unwrap_or(&lower);
        let suffix = host.strip_prefix("amazon.").unwrap_or(host);
        Self::ALL
            .into_iter()
            .find(|one| {
                suffix == one.suffix()
                    || lower.eq_ignore_ascii_case(one.code())
                    || lower.parse() == Ok(one.id())
            })
            .ok_or_else(|| UnknownDomain(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_marketplace_names_it() {
        for one in Domain::ALL {
            let spellings = [
                one.code().to_owned(),
                one.code().to_lowercase(),
                one.id().to_string(),
                one.suffix().to_owned(),
                format!("amazon.{}", one.suffix()),
                format!(" WWW.Amazon.{} ", one.suffix()),
            ];
            for spelling in spellings {
                assert_eq!(spelling.parse(), Ok(one), "{spelling}");
            }
            assert_eq!(Domain::from_id(i64::from(one.id())), Some(one));
        }
    }

    #[test]
    fn other_words_name_none() {
        for word in ["", "7", "0", "XX", "amazon", "amazon.cn", "ebay.com", "01x"] {
            assert_eq!(word.parse::<Domain>(), Err(UnknownDomain(word.to_owned())));
        }
    }
}
