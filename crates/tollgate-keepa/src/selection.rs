//! Knows the fields of finder and deal queries, so that a misspelled one is found before a token is spent.
//!
//! Most fields of the finder are families over histories and are derived; only the rest is listed.

use serde_json::{Map, Value};

use crate::{Error, series::Series};

/// Families of numbers, each with a lower and an upper bound.
const RANGES: &str = "current avg1 avg7 avg30 avg90 avg180 avg365 delta1 delta7 delta30 delta90 deltaPercent1 \
    deltaPercent7 deltaPercent30 deltaPercent90 deltaLast lastPriceChange";
/// Families of switches.
const SWITCHES: &str = "isLowest backInStock";
/// Histories that have no family.
const WITHOUT: [Series; 7] = [
    Series::ExtraInfoUpdates,
    Series::NewFbaOfferCount,
    Series::NewFbmOfferCount,
    Series::CollectibleLikeNewShipping,
    Series::CollectibleVeryGoodShipping,
    Series::CollectibleGoodShipping,
    Series::CollectibleAcceptableShipping,
];
/// Other numbers, each with a lower and an upper bound.
const BOUNDED: &str = "businessDiscount flipability30 flipability365 flipability90 salesRankTopPct videoCount unitValue \
    availabilityAmazonMinDelayInDays buyBoxStandardDeviation30 buyBoxStandardDeviation365 buyBoxStandardDeviation90 \
    buyBoxStatsAmazon180 buyBoxStatsAmazon30 buyBoxStatsAmazon365 buyBoxStatsAmazon90 buyBoxStatsSellerCount180 \
    buyBoxStatsSellerCount30 buyBoxStatsSellerCount365 buyBoxStatsSellerCount90 buyBoxStatsTopSeller180 \
    buyBoxStatsTopSeller30 buyBoxStatsTopSeller365 buyBoxStatsTopSeller90 couponOneTimeAbsolute couponOneTimePercent \
    couponSNSPercent fbaFees imageCount itemDimension itemHeight itemLength itemWeight itemWidth \
    lastBusinessDiscountUpdate lastOffersUpdate lastPriceChange lastRatingUpdate lastUpdate lightningEnd lightningStart \
    listedSince monthlySold nextUpdate numberOfItems numberOfPages numberOfTrackings offerCountFBA offerCountFBM \
    outOfStockCountAmazon30 outOfStockCountAmazon90 outOfStockPercentage90 outOfStockPercentage90_BB \
    outOfStockPercentage90_BB_USED outOfStockPercentage90_NEW outOfStockPercentage90_USED outOfStockPercentageInInterval \
    packageDimension packageHeight packageLength packageQuantity packageWeight packageWidth publicationDate releaseDate \
    salesRankDrops180 salesRankDrops30 salesRankDrops365 salesRankDrops90 totalOfferCount trackingSince variationCount \
    variationRatingCount variationReviewCount buyBoxEligibleOfferCountsNewFBA buyBoxEligibleOfferCountsNewFBM \
    buyBoxEligibleOfferCountsUsedFBA buyBoxEligibleOfferCountsUsedFBM deltaPercent90_monthlySold";
/// Everything else the finder knows.
const PLAIN: &str = "batteriesIncluded batteriesRequired buyBoxIsAmazon buyBoxIsBackorder buyBoxIsFBA buyBoxIsPreorder \
    buyBoxIsPrimeEligible buyBoxIsPrimeExclusive buyBoxIsUnqualified buyBoxUsedIsFBA hasAPlus hasAPlusFromManufacturer \
    hasMainVideo hasParentASIN hasReviews isAdultProduct isDeal isEligibleForSuperSaverShipping isEligibleForTradeIn \
    isHazMat isHeatSensitive isHighestOffer isLowestOffer isMerchOnDemand isPrimeExclusive isSNS launchpad newPriceIsMAP \
    singleVariation availabilityAmazon productType returnRate warehouseCondition blackList buyBoxUsedCondition \
    salesRankReference buyBoxUsedSellerId historicalParentASIN material pattern scent style title title_flag unitType \
    activeIngredients author binding brand brandStoreName brandStoreUrlName buyBoxSellerId buyBoxShippingCountry \
    buyBoxStatsTopSellerId180 buyBoxStatsTopSellerId30 buyBoxStatsTopSellerId365 buyBoxStatsTopSellerId90 color dealType \
    edition format genre historicalSellerIds itemForm itemTypeKeyword label languages manufacturer model partNumber \
    platform productGroup publisher rootCategory sellerIds sellerIdsFBA sellerIdsFBM sellerIdsLowestFBA \
    sellerIdsLowestFBM size specialIngredients studio targetAudienceKeyword type websiteDisplayGroup \
    websiteDisplayGroupName sort page perPage categories_exclude categories_include";
/// Everything a deal query knows.
const DEALS: &str = "page domainId priceTypes dateRange sortType isFilterEnabled isRangeEnabled includeCategories \
    excludeCategories minRating isLowest isLowest90 isLowestOffer isHighest isOutOfStock isBackInStock hasReviews \
    filterErotic singleVariation isRisers isPrimeExclusive mustHaveAmazonOffer mustNotHaveAmazonOffer \
    warehouseConditions titleSearch currentRange deltaRange deltaPercentRange deltaLastRange salesRankRange \
    deltaPercentRangeEnabled material type manufacturer brand brandStoreName brandStoreUrlName productGroup model \
    color size unitType scent itemForm pattern style itemTypeKeyword targetAudienceKeyword edition format author \
    binding languages websiteDisplayGroup websiteDisplayGroupName";
const MOST_CATEGORIES: usize = 500;
/// How many names an error suggests, and how far off they may be.
const SUGGESTIONS: usize = 3;
const FAR: usize = 8;

/// All fields of the finder.
pub fn finder_fields() -> Vec<String> {
    let bounds = |name: String| [format!("{name}_gte"), format!("{name}_lte")];
    let series = || Series::ALL.into_iter().filter(|one| !WITHOUT.contains(one));
    let family =
        |prefix: &'static str| series().map(move |one| format!("{prefix}_{}", one.keepa_name()));
    let ranges = RANGES.split_whitespace().flat_map(family);
    let months = (0..3).flat_map(|year| (0..12).map(move |month| format!("srAvg{year}{month:02}")));
    let bounded = BOUNDED.split_whitespace().map(str::to_owned);
    let plain = PLAIN.split_whitespace().map(str::to_owned);
    let switches = SWITCHES.split_whitespace().flat_map(family);
    let numbers = ranges.chain(months).chain(bounded).flat_map(bounds);
    numbers.chain(switches).chain(plain).collect()
}

/// Refuses a finder selection with a field that does not exist, naming the nearest that do.
pub fn check_finder(selection: &Map<String, Value>) -> Result<(), Error> {
    check_names("the finder", selection, &finder_fields())?;
    let sorts = selection
        .get("sort")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    if sorts > 3 {
        return Err(Error::argument("the finder sorts by at most three fields"));
    }
    let per_page = selection.get("perPage").and_then(Value::as_i64);
    if per_page.is_some_and(|count| !(50..=10_000).contains(&count)) {
        return Err(Error::argument("perPage must be from 50 to 10000"));
    }
    Ok(())
}

/// Refuses a deal selection with a field that does not exist, naming the nearest that do.
pub fn check_deals(selection: &Map<String, Value>) -> Result<(), Error> {
    let fields: Vec<String> = DEALS.split_whitespace().map(str::to_owned).collect();
    check_names("a deal query", selection, &fields)?;
    let length = |name: &str| selection.get(name).and_then(Value::as_array).map(Vec::len);
    if length("priceTypes").is_some_and(|count| count != 1) {
        return Err(Error::argument(
            "a deal query has exactly one of priceTypes",
        ));
    }
    for name in ["includeCategories", "excludeCategories"] {
        if length(name).is_some_and(|count| count > MOST_CATEGORIES) {
            let message = format!("{name} holds at most {MOST_CATEGORIES} categories");
            return Err(Error::argument(message));
        }
    }
    let range = selection.get("dateRange").and_then(Value::as_i64);
    if range.is_some_and(|range| !(0..=3).contains(&range)) {
        return Err(Error::argument("dateRange is 0 to 3"));
    }
    Ok(())
}

fn check_names(
    whose: &str,
    selection: &Map<String, Value>,
    fields: &[String],
) -> Result<(), Error> {
    let is_known = |name: &str| fields.iter().any(|field| field == name);
    let Some(name) = selection.keys().find(|name| !is_known(name)) else {
        return Ok(());
    };
    let near = nearest(name, fields);
    let message = format!(
        "{whose} has no field {name:?}; near it are: {}",
        near.join(", ")
    );
    Err(Error::argument(message)
        .with("field", name.as_str())
        .with("nearest", near))
}

fn nearest(name: &str, fields: &[String]) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut near: Vec<(usize, &String)> = fields
        .iter()
        .map(|field| (distance(&wanted, &field.to_lowercase()), field))
        .filter(|(far, _)| *far <= FAR)
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(SUGGESTIONS)
        .map(|(_, field)| field.clone())
        .collect()
}

/// How many letters have to be added, dropped or changed.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, above) in b.bytes().zip(row.iter_mut().skip(1)) {
            let cost = (diagonal + usize::from(x != y))
                .min(left + 1)
                .min(*above + 1);
            (diagonal, left) = (*above, cost);
            *above = cost;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn check(selection: Value) -> Result<(), Error> {
        check_finder(selection.as_object().unwrap())
    }

    #[test]
    fn there_are_as_many_fields_as_published() {
        let fields = finder_fields();
        let distinct: BTreeSet<&String> = fields.iter().collect();
        assert_eq!((fields.len(), distinct.len()), (1363, 1363));
        assert!(!fields.iter().any(|name| name.contains("COUNT_NEW_FBA")));
    }

    #[test]
    fn a_misspelled_field_is_named_with_its_neighbours() {
        let error = check(json!({"current_SALE_lte": 5})).unwrap_err();
        assert_eq!(error.details["nearest"][0], "current_SALES_lte");
        assert_eq!(error.details["field"], "current_SALE_lte");
        assert!(check(json!({"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz": 1})).is_err());
    }

    #[test]
    fn bounds_are_checked() {
        assert!(check(json!({"perPage": 50, "page": 0, "sort": [["current_SALES", "asc"]], "categories_include": [1]})).is_ok());
        assert!(check(json!({"perPage": 10})).is_err());
        assert!(check(json!({"sort": [[], [], [], []]})).is_err());
    }

    #[test]
    fn deals_are_checked_too() {
        let check = |selection: Value| check_deals(selection.as_object().unwrap());
        assert!(
            check(json!({"page": 0, "priceTypes": [0], "deltaPercentRange": [20, 80]})).is_ok()
        );
        assert_eq!(
            check(json!({"pages": 0})).unwrap_err().details["nearest"][0],
            "page"
        );
        for wrong in [
            json!({"priceTypes": [0, 1]}),
            json!({"dateRange": 9}),
            json!({"includeCategories": vec![1; 501]}),
        ] {
            assert!(check(wrong).is_err());
        }
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
