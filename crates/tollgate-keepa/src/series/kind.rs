//! The 36 histories of a product's `csv` field, by position.
//!
//! One table line each: what Keepa calls it, what the views call it, its unit and its layout.

/// What a number of a series counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// The smallest unit of the marketplace's currency.
    Currency,
    /// A place in a list; smaller is better.
    Rank,
    /// Things.
    Count,
    /// Tenths of a star, 0 to 50.
    Rating,
}

impl Unit {
    /// Its name in a view.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Currency => "currency",
            Self::Rank => "rank",
            Self::Count => "count",
            Self::Rating => "rating",
        }
    }
}

/// How the flat array of a history is cut into points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Time, value.
    Pairs,
    /// Time, price, shipping.
    Triples,
}

impl Layout {
    /// Numbers to a point.
    pub const fn width(self) -> usize {
        match self {
            Self::Pairs => 2,
            Self::Triples => 3,
        }
    }
}

macro_rules! series {
    ($($variant:ident $keepa:literal $name:literal $unit:ident $layout:ident $offers:literal $deal:literal,)+) => {
        /// One history, in the order of the `csv` field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Series {
            $(#[doc = $keepa] $variant,)+
        }

        impl Series {
            /// All of them, by position.
            pub const ALL: [Self; 36] = [$(Self::$variant,)+];

            /// Keepa's own name, which is also the ending of finder fields.
            pub const fn keepa_name(self) -> &'static str {
                match self { $(Self::$variant => $keepa,)+ }
            }

            /// The name in views.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What its numbers count.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)+ }
            }

            /// How its points are laid out.
            pub const fn layout(self) -> Layout {
                match self { $(Self::$variant => Layout::$layout,)+ }
            }

            /// Whether Keepa only has it for products whose offers were once fetched.
            pub const fn needs_offers(self) -> bool {
                match self { $(Self::$variant => $offers,)+ }
            }

            /// Whether deals can be asked for by it.
            pub const fn is_deal_type(self) -> bool {
                match self { $(Self::$variant => $deal,)+ }
            }
        }
    };
}

series! {
    Amazon "AMAZON" "amazon" Currency Pairs false true,
    New "NEW" "new" Currency Pairs false true,
    Used "USED" "used" Currency Pairs false true,
    SalesRank "SALES" "sales_rank" Rank Pairs false true,
    ListPrice "LISTPRICE" "list_price" Currency Pairs false false,
    Collectible "COLLECTIBLE" "collectible" Currency Pairs false true,
    Refurbished "REFURBISHED" "refurbished" Currency Pairs false true,
    NewFbmShipping "NEW_FBM_SHIPPING" "new_fbm_shipping" Currency Triples true true,
    LightningDeal "LIGHTNING_DEAL" "lightning_deal" Currency Pairs false true,
    Warehouse "WAREHOUSE" "warehouse" Currency Pairs true true,
    NewFba "NEW_FBA" "new_fba" Currency Pairs true true,
    NewOfferCount "COUNT_NEW" "new_offer_count" Count Pairs false false,
    UsedOfferCount "COUNT_USED" "used_offer_count" Count Pairs false false,
    RefurbishedOfferCount "COUNT_REFURBISHED" "refurbished_offer_count" Count Pairs false false,
    CollectibleOfferCount "COUNT_COLLECTIBLE" "collectible_offer_count" Count Pairs false false,
    ExtraInfoUpdates "EXTRA_INFO_UPDATES" "extra_info_updates" Count Pairs true false,
    Rating "RATING" "rating" Rating Pairs true false,
    ReviewCount "COUNT_REVIEWS" "review_count" Count Pairs true false,
    BuyBoxShipping "BUY_BOX_SHIPPING" "buy_box_shipping" Currency Triples true false,
    UsedLikeNewShipping "USED_NEW_SHIPPING" "used_like_new_shipping" Currency Triples true true,
    UsedVeryGoodShipping "USED_VERY_GOOD_SHIPPING" "used_very_good_shipping" Currency Triples true true,
    UsedGoodShipping "USED_GOOD_SHIPPING" "used_good_shipping" Currency Triples true true,
    UsedAcceptableShipping "USED_ACCEPTABLE_SHIPPING" "used_acceptable_shipping" Currency Triples true true,
    CollectibleLikeNewShipping "COLLECTIBLE_NEW_SHIPPING" "collectible_like_new_shipping" Currency Triples true true,
    CollectibleVeryGoodShipping "COLLECTIBLE_VERY_GOOD_SHIPPING" "collectible_very_good_shipping" Currency Triples true true,
    CollectibleGoodShipping "COLLECTIBLE_GOOD_SHIPPING" "collectible_good_shipping" Currency Triples true true,
    CollectibleAcceptableShipping "COLLECTIBLE_ACCEPTABLE_SHIPPING" "collectible_acceptable_shipping" Currency Triples true true,
    RefurbishedShipping "REFURBISHED_SHIPPING" "refurbished_shipping" Currency Triples true true,
    EbayNewShipping "EBAY_NEW_SHIPPING" "ebay_new_shipping" Currency Triples false false,
    EbayUsedShipping "EBAY_USED_SHIPPING" "ebay_used_shipping" Currency Triples false false,
    TradeIn "TRADE_IN" "trade_in" Currency Pairs false false,
    Rental "RENT" "rental" Currency Pairs true false,
    BuyBoxUsedShipping "BUY_BOX_USED_SHIPPING" "buy_box_used_shipping" Currency Triples true true,
    PrimeExclusive "PRIME_EXCL" "prime_exclusive" Currency Pairs true true,
    NewFbaOfferCount "COUNT_NEW_FBA" "new_fba_offer_count" Count Pairs false false,
    NewFbmOfferCount "COUNT_NEW_FBM" "new_fbm_offer_count" Count Pairs false false,
}

impl Series {
    /// Its position in `csv` and in every array of the statistics.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The series at a position; Keepa may add more than we know.
    pub fn at(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// The series with this name, in the views' spelling or in Keepa's, whatever the case.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().replace('-', "_");
        Self::ALL.into_iter().find(|one| {
            one.name().eq_ignore_ascii_case(&name) || one.keepa_name().eq_ignore_ascii_case(&name)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn positions_are_those_of_the_api() {
        for (index, one) in Series::ALL.into_iter().enumerate() {
            assert_eq!(one.index(), index);
            assert_eq!(Series::at(index), Some(one));
        }
        assert_eq!(Series::at(36), None);
        assert_eq!(Series::RATING_AND_REVIEWS.map(Series::index), [16, 17]);
        assert_eq!(Series::BuyBoxUsedShipping.index(), 32);
        assert_eq!(Series::NewFbmOfferCount.index(), 35);
    }

    impl Series {
        const RATING_AND_REVIEWS: [Self; 2] = [Self::Rating, Self::ReviewCount];
    }

    #[test]
    fn triples_are_exactly_the_prices_with_shipping() {
        let triples: Vec<usize> = Series::ALL
            .into_iter()
            .filter(|one| one.layout() == Layout::Triples)
            .map(Series::index)
            .collect();
        let expected: Vec<usize> = [7].into_iter().chain(18..=29).chain([32]).collect();
        assert_eq!(triples, expected);
        for one in Series::ALL {
            let says_so = one.keepa_name().ends_with("_SHIPPING");
            assert_eq!(one.layout() == Layout::Triples, says_so, "{one:?}");
        }
    }

    #[test]
    fn names_are_distinct_and_found_in_both_spellings() {
        let names: BTreeSet<&str> = Series::ALL.into_iter().map(Series::name).collect();
        assert_eq!(names.len(), Series::ALL.len());
        for one in Series::ALL {
            assert_eq!(Series::named(one.name()), Some(one));
            assert_eq!(Series::named(&one.keepa_name().to_lowercase()), Some(one));
        }
        assert_eq!(Series::named("sales-rank"), Some(Series::SalesRank));
        assert_eq!(Series::named("price"), None);
    }
}
