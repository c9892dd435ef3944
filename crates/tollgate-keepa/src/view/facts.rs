//! Sections that say what a product is and how it sells.

use serde_json::{Map, Value, json};

use super::{
    compact,
    history::{moment, pair_summary, summary},
};
use crate::{
    KeepaMinute,
    product::Product,
    series::{
        BuyBoxOwner, Reading, Series, Unit, buy_box_history, coupon_history, reading,
        used_buy_box_history,
    },
};

/// What a rank history of a category shows of its end.
const RANKS: usize = 3;
const SAMPLE: usize = 5;
/// The prices worth naming one by one.
const PRICES: [Series; 10] = [
    Series::Amazon,
    Series::New,
    Series::Used,
    Series::ListPrice,
    Series::NewFbmShipping,
    Series::Warehouse,
    Series::NewFba,
    Series::BuyBoxShipping,
    Series::BuyBoxUsedShipping,
    Series::PrimeExclusive,
];
/// What the array of offers that may win the buy box counts, by position.
const ELIGIBLE: [&str; 8] = [
    "new_fba",
    "new_fbm",
    "used_fba",
    "used_fbm",
    "collectible_fba",
    "collectible_fbm",
    "refurbished_fba",
    "refurbished_fbm",
];

/// Fields under other names, those left out that say nothing.
pub(super) fn renamed(product: &Product, names: &[(&str, &str)]) -> Map<String, Value> {
    let found = names.iter().filter_map(|(ours, theirs)| {
        let value = product.field(theirs)?;
        Some(((*ours).to_owned(), value.clone()))
    });
    found.collect()
}

pub(super) fn identity(product: &Product) -> Value {
    Value::Object(renamed(
        product,
        &[
            ("asin", "asin"),
            ("title", "title"),
            ("brand", "brand"),
            ("manufacturer", "manufacturer"),
            ("domain_id", "domainId"),
            ("type", "type"),
            ("product_type", "productType"),
            ("product_group", "productGroup"),
            ("item_type_keyword", "itemTypeKeyword"),
            ("model", "model"),
            ("part_number", "partNumber"),
            ("url_slug", "urlSlug"),
            ("parent_asin", "parentAsin"),
            ("is_redirect_asin", "isRedirectASIN"),
            ("is_adult_product", "isAdultProduct"),
        ],
    ))
}

/// A number of the statistics with its meaning.
pub(super) fn value_at(product: &Product, array: &str, series: Series) -> Option<Value> {
    let raw = product.stat_at(array, series.index());
    reading(raw, series.unit(), product.domain()).map(|one| Value::Object(one.object()))
}

/// All numbers of an array of the statistics, of these series.
pub(super) fn values(product: &Product, array: &str, series: &[Series]) -> Value {
    let named = series.iter().filter_map(|one| {
        let value = value_at(product, array, *one)?;
        Some((one.name().to_owned(), value))
    });
    Value::Object(named.collect())
}

pub(super) fn category(product: &Product) -> Value {
    let tree: Vec<Value> = product
        .items("categoryTree")
        .iter()
        .map(|entry| json!({"id": entry["catId"], "name": entry["name"]}))
        .collect();
    let ranks = product.field("salesRanks").and_then(Value::as_object);
    let ranks: Map<String, Value> = ranks
        .into_iter()
        .flatten()
        .filter_map(|(id, flat)| {
            let flat = flat.as_array()?.iter().filter_map(Value::as_i64);
            let flat: Vec<i64> = flat.collect();
            Some((id.clone(), pair_summary(&flat, RANKS)?))
        })
        .collect();
    compact(json!({
        "root_category": product.field("rootCategory"),
        "category_ids": product.field("categories"),
        "category_tree": tree,
        "sales_rank_reference": product.field("salesRankReference"),
        "sales_rank_display_group": product.field("salesRankDisplayGroup"),
        "sales_rank_current": value_at(product, "current", Series::SalesRank),
        "sales_ranks": ranks,
    }))
}

pub(super) fn pricing(product: &Product, limit: usize) -> Value {
    let coupons = coupon_history(&product.numbers("couponHistory"));
    let coupons = coupons.iter().map(|point| {
        let parts = [
            ("one_time", Value::from(point.one_time)),
            ("subscription", Value::from(point.subscription)),
        ];
        moment(point.at, parts)
    });
    let threshold = product
        .field("competitivePriceThreshold")
        .and_then(Value::as_i64);
    let promotions: Vec<&Value> = product.items("promotions").iter().take(SAMPLE).collect();
    compact(json!({
        "current": values(product, "current", &PRICES),
        "avg30": values(product, "avg30", &PRICES),
        "avg90": values(product, "avg90", &PRICES),
        "avg180": values(product, "avg180", &PRICES),
        "trade_in_price": value_at(product, "current", Series::TradeIn),
        "competitive_price_threshold":
            reading(threshold, Unit::Currency, product.domain()).map(Reading::amount),
        "coupon": product.field("coupon"),
        "coupon_history": summary(coupons.collect(), limit),
        "promotions": promotions,
        "buy_box": buy_box(product, limit),
    }))
}

/// Whose the buy box is, in words.
fn owner(owner: &BuyBoxOwner) -> [(&'static str, Value); 2] {
    let (status, seller) = match owner {
        BuyBoxOwner::Seller(id) => ("seller", Value::from(id.as_str())),
        BuyBoxOwner::Nobody => ("nobody", Value::Null),
        BuyBoxOwner::Unknown => ("unknown", Value::Null),
    };
    [("owner", Value::from(status)), ("seller_id", seller)]
}

/// Who held the buy box, and who the one for used things.
fn turns(product: &Product, limit: usize) -> [Option<Value>; 2] {
    let texts = |name: &str| -> Vec<String> {
        let all = product.items(name).iter();
        all.map(|one| one.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let new = buy_box_history(&texts("buyBoxSellerIdHistory"));
    let new = new.iter().map(|turn| moment(turn.at, owner(&turn.owner)));
    let used = used_buy_box_history(&texts("buyBoxUsedHistory"));
    let used = used.iter().map(|turn| {
        let mut shown = moment(turn.at, owner(&turn.owner));
        shown["condition"] = json!(turn.condition);
        shown["is_fba"] = json!(turn.is_fba);
        shown
    });
    [
        summary(new.collect(), limit),
        summary(used.collect(), limit),
    ]
}

fn buy_box(product: &Product, limit: usize) -> Value {
    let [new_turns, used_turns] = turns(product, limit);
    let amount = |name: &str| {
        let raw = product.stat(name).and_then(Value::as_i64);
        reading(raw, Unit::Currency, product.domain()).map(Reading::amount)
    };
    compact(json!({
        "price": amount("buyBoxPrice"),
        "shipping": amount("buyBoxShipping"),
        "seller_id": product.stat("buyBoxSellerId"),
        "is_amazon": product.stat("buyBoxIsAmazon"),
        "is_fba": product.stat("buyBoxIsFBA"),
        "is_prime_eligible": product.stat("buyBoxIsPrimeEligible"),
        "is_free_shipping_eligible": product.stat("buyBoxIsFreeShippingEligible"),
        "saving_basis": amount("buyBoxSavingBasis"),
        "saving_basis_type": product.stat("buyBoxSavingBasisType"),
        "saving_percentage": product.stat("buyBoxSavingPercentage"),
        "condition": product.stat("buyBoxCondition"),
        "availability_message": product.stat("buyBoxAvailabilityMessage"),
        "seller_history": new_turns,
        "used_seller_history": used_turns,
    }))
}

/// A moment from a field that may say "never".
fn when(product: &Product, name: &str) -> Option<Value> {
    let minute = KeepaMinute(product.field(name)?.as_i64()?);
    minute.is_set().then(|| moment(minute, []))
}

/// A field unless it is a negative number, which means that it is not known.
fn known(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| value.as_f64().is_none_or(|number| number >= 0.0))
}

pub(super) fn demand(product: &Product, limit: usize) -> Value {
    let drops = ["30", "90", "180", "365"].into_iter().filter_map(|days| {
        let count = known(product.stat(&format!("salesRankDrops{days}")))?;
        Some((days.to_owned(), count.clone()))
    });
    compact(json!({
        "monthly_sold": known(product.field("monthlySold")),
        "monthly_sold_history": pair_summary(&product.numbers("monthlySoldHistory"), limit),
        "sales_rank_drops": drops.collect::<Map<String, Value>>(),
        "delta_percent_90_monthly_sold": product.stat("deltaPercent90_monthlySold"),
        "listed_since": when(product, "listedSince"),
        "tracking_since": when(product, "trackingSince"),
        "last_sold_update": when(product, "lastSoldUpdate"),
    }))
}

pub(super) fn rating(product: &Product) -> Value {
    compact(json!({
        "rating": value_at(product, "current", Series::Rating),
        "review_count": value_at(product, "current", Series::ReviewCount),
        "has_reviews": product.field("hasReviews"),
        "last_rating_update": when(product, "lastRatingUpdate"),
        "reviews_object_available": product.has("reviews"),
    }))
}

pub(super) fn offers(product: &Product) -> Value {
    let counts = product.numbers("buyBoxEligibleOfferCounts");
    let eligible = ELIGIBLE.iter().zip(counts).filter(|(_, count)| *count >= 0);
    let eligible = eligible.map(|(name, count)| ((*name).to_owned(), Value::from(count)));
    let ids = |name: &str| {
        let all = product.stat(name).and_then(Value::as_array);
        all.into_iter()
            .flatten()
            .take(SAMPLE)
            .cloned()
            .collect::<Vec<_>>()
    };
    let live = product.items("liveOffersOrder").len();
    compact(json!({
        "total_offer_count": known(product.stat("totalOfferCount")),
        "retrieved_offer_count": known(product.stat("retrievedOfferCount")),
        "offer_count_fba": known(product.stat("offerCountFBA")),
        "offer_count_fbm": known(product.stat("offerCountFBM")),
        "buy_box_eligible_offer_counts": eligible.collect::<Map<String, Value>>(),
        "offers_successful": product.field("offersSuccessful"),
        "live_offers_count": (live > 0).then_some(live),
        "out_of_stock_percentage": out_of_stock(product),
        "lowest_fba_seller_ids": ids("sellerIdsLowestFBA"),
        "lowest_fbm_seller_ids": ids("sellerIdsLowestFBM"),
    }))
}

fn out_of_stock(product: &Product) -> Map<String, Value> {
    let series = [
        Series::Amazon,
        Series::New,
        Series::Used,
        Series::LightningDeal,
        Series::PrimeExclusive,
    ];
    let of = |days: &str| {
        let array = format!("outOfStockPercentage{days}");
        let shares = series.iter().filter_map(|one| {
            let share = product
                .stat_at(&array, one.index())
                .filter(|share| *share >= 0)?;
            Some((one.name().to_owned(), Value::from(share)))
        });
        shares.collect::<Map<String, Value>>()
    };
    let all = ["30", "90", "180", "365"].map(|days| (days, of(days)));
    let some = all.into_iter().filter(|(_, shares)| !shares.is_empty());
    some.map(|(days, shares)| (days.to_owned(), Value::Object(shares)))
        .collect()
}

pub(super) fn stats_summary(product: &Product) -> Value {
    let all = &Series::ALL;
    let ranges = ["min", "max", "minInInterval", "maxInInterval"];
    let ranges = ranges.map(|name| (name.to_owned(), Value::Object(extremes(product, name))));
    let ranges: Map<String, Value> = ranges.into_iter().collect();
    let ranges = compact(Value::Object(ranges));
    compact(json!({
        "current": values(product, "current", all),
        "avg": values(product, "avg", all),
        "avg30": values(product, "avg30", all),
        "avg90": values(product, "avg90", all),
        "avg180": values(product, "avg180", all),
        "avg365": values(product, "avg365", all),
        "ranges": ranges,
    }))
}

/// The lowest or highest values, each with its moment.
fn extremes(product: &Product, name: &str) -> Map<String, Value> {
    let found = Series::ALL.into_iter().filter_map(|one| {
        let pair = product.stat(name)?.get(one.index())?;
        let (at, raw) = (pair.get(0)?.as_i64()?, pair.get(1)?.as_i64());
        let mut value = reading(raw, one.unit(), product.domain())?.object();
        value.insert("keepa_minute".to_owned(), Value::from(at));
        value.insert(
            "timestamp".to_owned(),
            Value::from(KeepaMinute(at).to_string()),
        );
        Some((one.name().to_owned(), Value::Object(value)))
    });
    found.collect()
}
