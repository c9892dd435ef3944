//! Histories: which there are, how each is laid out in an answer, and what its numbers mean.
//!
//! Invariant: decoding never fails and never invents. What does not fit its layout is counted and left out, so one broken
//! history costs nothing else.

mod decode;
mod kind;
mod side;
mod value;

pub use decode::{Decoded, Point, pairs, triples};
pub use kind::{Layout, Series, Unit};
pub use side::{
    BuyBoxOwner, BuyBoxTurn, Coupon, CouponPoint, UsedBuyBoxTurn, buy_box_history, coupon,
    coupon_history, used_buy_box_history,
};
pub use value::{Reading, decimal, reading, round};
