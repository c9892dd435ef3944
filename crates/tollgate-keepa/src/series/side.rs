//! Histories that live outside the `csv` field and have layouts of their own: coupons and who held the buy box.
//!
//! Coupons come in triples, because a one-time coupon and one for subscribers exist side by side. Owners of the buy box
//! come as strings, where "-1" is nobody and "-2" is not known.

use crate::KeepaMinute;

/// What a coupon takes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupon {
    /// There is none.
    None,
    /// An amount in the smallest unit of the currency.
    Amount(i64),
    /// A share in percent.
    Percent(i64),
}

/// Reads one number of a coupon: positive is an amount, negative a percentage.
pub fn coupon(raw: i64) -> Coupon {
    match raw {
        0 => Coupon::None,
        amount if amount > 0 => Coupon::Amount(amount),
        percent => Coupon::Percent(percent.saturating_neg()),
    }
}

/// Coupons from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CouponPoint {
    /// Since when.
    pub at: KeepaMinute,
    /// As it came, for a single purchase.
    pub one_time: i64,
    /// As it came, for subscribers.
    pub subscription: i64,
}

/// Reads `couponHistory`, leaving out an end that is no whole point.
pub fn coupon_history(flat: &[i64]) -> Vec<CouponPoint> {
    let point = |numbers: &[i64]| match numbers {
        [at, one_time, subscription] => Some(CouponPoint {
            at: KeepaMinute(*at),
            one_time: *one_time,
            subscription: *subscription,
        }),
        _ => None,
    };
    flat.chunks_exact(3).filter_map(point).collect()
}

/// Who holds the buy box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuyBoxOwner {
    /// Nobody qualifies.
    Nobody,
    /// Keepa could not tell.
    Unknown,
    /// A seller, by id.
    Seller(String),
}

impl BuyBoxOwner {
    fn read(text: &str) -> Self {
        match text.trim() {
            "-1" => Self::Nobody,
            "-2" | "" => Self::Unknown,
            seller => Self::Seller(seller.to_owned()),
        }
    }
}

/// A change of the buy box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuyBoxTurn {
    /// Since when.
    pub at: KeepaMinute,
    /// Whose it is.
    pub owner: BuyBoxOwner,
}

/// Reads `buyBoxSellerIdHistory`; a turn whose time is no number is left out.
pub fn buy_box_history(flat: &[String]) -> Vec<BuyBoxTurn> {
    let turn = |texts: &[String]| match texts {
        [at, owner] => Some(BuyBoxTurn {
            at: minute(at)?,
            owner: BuyBoxOwner::read(owner),
        }),
        _ => None,
    };
    flat.chunks_exact(2).filter_map(turn).collect()
}

/// A change of the used buy box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedBuyBoxTurn {
    /// Since when.
    pub at: KeepaMinute,
    /// Whose it is.
    pub owner: BuyBoxOwner,
    /// The condition, as Keepa numbers them.
    pub condition: Option<u8>,
    /// Whether Amazon ships it.
    pub is_fba: Option<bool>,
}

/// Reads `buyBoxUsedHistory`, which has four texts to a turn.
pub fn used_buy_box_history(flat: &[String]) -> Vec<UsedBuyBoxTurn> {
    let turn = |texts: &[String]| match texts {
        [at, owner, condition, is_fba] => Some(UsedBuyBoxTurn {
            at: minute(at)?,
            owner: BuyBoxOwner::read(owner),
            condition: condition.trim().parse().ok(),
            is_fba: flag(is_fba),
        }),
        _ => None,
    };
    flat.chunks_exact(4).filter_map(turn).collect()
}

fn minute(text: &str) -> Option<KeepaMinute> {
    text.trim().parse().ok().map(KeepaMinute)
}

fn flag(text: &str) -> Option<bool> {
    match text.trim() {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn coupons_are_triples() {
        let points = coupon_history(&[10, 100, -5, 20, 0, 0, 30]);
        let last = CouponPoint {
            at: KeepaMinute(20),
            one_time: 0,
            subscription: 0,
        };
        assert_eq!(points.len(), 2);
        assert_eq!(coupon(points[0].one_time), Coupon::Amount(100));
        assert_eq!(coupon(points[0].subscription), Coupon::Percent(5));
        assert_eq!(coupon(points[1].one_time), Coupon::None);
        assert_eq!(points[1], last);
    }

    #[test]
    fn nobody_and_unknown_are_told_apart() {
        let turns = buy_box_history(&texts(&["1", "-1", "2", "-2", "3", "A2SELLER", "x", "B"]));
        let owners: Vec<BuyBoxOwner> = turns.into_iter().map(|turn| turn.owner).collect();
        let seller = BuyBoxOwner::Seller("A2SELLER".to_owned());
        assert_eq!(owners, [BuyBoxOwner::Nobody, BuyBoxOwner::Unknown, seller]);
    }

    #[test]
    fn used_turns_have_four_parts() {
        let turns = used_buy_box_history(&texts(&["5", "A1", "3", "1", "6", "-1", "", ""]));
        assert_eq!(turns[0].condition, Some(3));
        assert_eq!(turns[0].is_fba, Some(true));
        assert_eq!(turns[1].owner, BuyBoxOwner::Nobody);
        assert_eq!(turns[1].condition, None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_history(flat in proptest::collection::vec(".{0,12}", 0..40)) {
            prop_assert!(buy_box_history(&flat).len() <= flat.len() / 2);
            prop_assert!(used_buy_box_history(&flat).len() <= flat.len() / 4);
        }
    }
}
