//! The fields of finder and deal queries, and what each may hold.
//!
//! Most fields of the finder are families over histories and are derived; only the rest is listed.

use serde_json::Value;

use crate::series::Series;

/// What a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    /// True or false.
    Switch,
    /// A text.
    Text,
    /// A text or several; numbers are taken for texts.
    Texts,
    /// A whole number or several; texts of digits are taken for numbers.
    Wholes,
    /// A lower and an upper bound.
    Bounds,
    /// Pairs of a field and a direction.
    Order,
}

impl Holds {
    /// In words, for who wrote something else.
    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Switch => "true or false",
            Self::Text => "a text",
            Self::Texts => "a text or a list of texts",
            Self::Wholes => "a whole number or a list of them",
            Self::Bounds => "a list of a lower and an upper bound",
            Self::Order => "a list of pairs such as [\"current_SALES\", \"asc\"]",
        }
    }

    pub(super) fn accepts(self, value: &Value) -> bool {
        let is_whole = |value: &Value| value.is_i64() || value.is_u64();
        let is_digits = |value: &Value| {
            let text = value.as_str();
            text.is_some_and(|text| {
                !text.is_empty() && text.bytes().all(|one| one.is_ascii_digit())
            })
        };
        let each = |test: &dyn Fn(&Value) -> bool| match value.as_array() {
            Some(all) => all.iter().all(test),
            None => test(value),
        };
        match self {
            Self::Whole => is_whole(value),
            Self::Number => value.is_number(),
            Self::Switch => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Texts => each(&|one| one.is_string() || is_whole(one)),
            Self::Wholes => each(&|one| is_whole(one) || is_digits(one)),
            Self::Bounds => value
                .as_array()
                .is_some_and(|all| all.len() == 2 && all.iter().all(is_whole)),
            Self::Order => value.is_array(),
        }
    }
}

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
/// Other fields of the finder, by what they hold.
const PLAIN: [(Holds, &str); 6] = [
    (
        Holds::Switch,
        "batteriesIncluded batteriesRequired buyBoxIsAmazon buyBoxIsBackorder buyBoxIsFBA buyBoxIsPreorder \
        buyBoxIsPrimeEligible buyBoxIsPrimeExclusive buyBoxIsUnqualified buyBoxUsedIsFBA hasAPlus \
        hasAPlusFromManufacturer hasMainVideo hasParentASIN hasReviews isAdultProduct isDeal \
        isEligibleForSuperSaverShipping isEligibleForTradeIn isHazMat isHeatSensitive isHighestOffer isLowestOffer \
        isMerchOnDemand isPrimeExclusive isSNS launchpad newPriceIsMAP singleVariation",
    ),
    (
        Holds::Wholes,
        "availabilityAmazon productType returnRate warehouseCondition blackList buyBoxUsedCondition \
        categories_exclude categories_include",
    ),
    (Holds::Whole, "salesRankReference page perPage"),
    (
        Holds::Text,
        "buyBoxUsedSellerId historicalParentASIN material pattern scent style title title_flag unitType",
    ),
    (
        Holds::Texts,
        "activeIngredients author binding brand brandStoreName brandStoreUrlName buyBoxSellerId buyBoxShippingCountry \
        buyBoxStatsTopSellerId180 buyBoxStatsTopSellerId30 buyBoxStatsTopSellerId365 buyBoxStatsTopSellerId90 color \
        dealType edition format genre historicalSellerIds itemForm itemTypeKeyword label languages manufacturer model \
        partNumber platform productGroup publisher rootCategory sellerIds sellerIdsFBA sellerIdsFBM \
        sellerIdsLowestFBA sellerIdsLowestFBM size specialIngredients studio targetAudienceKeyword type \
        websiteDisplayGroup websiteDisplayGroupName",
    ),
    (Holds::Order, "sort"),
];
/// The fields of a deal query, by what they hold.
const DEALS: [(Holds, &str); 6] = [
    (Holds::Whole, "page domainId dateRange sortType minRating"),
    (
        Holds::Switch,
        "isFilterEnabled isRangeEnabled isLowest isLowest90 isLowestOffer isHighest isOutOfStock isBackInStock \
        hasReviews filterErotic singleVariation isRisers isPrimeExclusive mustHaveAmazonOffer mustNotHaveAmazonOffer",
    ),
    (
        Holds::Wholes,
        "priceTypes includeCategories excludeCategories warehouseConditions",
    ),
    (Holds::Text, "titleSearch"),
    (
        Holds::Bounds,
        "currentRange deltaRange deltaPercentRange deltaLastRange salesRankRange",
    ),
    (
        Holds::Texts,
        "material type manufacturer brand brandStoreName brandStoreUrlName productGroup model color size unitType \
        scent itemForm pattern style itemTypeKeyword targetAudienceKeyword edition format author binding languages \
        websiteDisplayGroup websiteDisplayGroupName",
    ),
];

/// A field and what it may hold.
pub(super) type Field = (String, Holds);

fn listed(table: &'static [(Holds, &'static str)]) -> impl Iterator<Item = Field> {
    table.iter().flat_map(|(holds, names)| {
        let names = names.split_whitespace();
        names.map(|name| (name.to_owned(), *holds))
    })
}

fn family(prefixes: &'static str) -> impl Iterator<Item = String> {
    prefixes.split_whitespace().flat_map(|prefix| {
        let series = Series::ALL.into_iter().filter(|one| !WITHOUT.contains(one));
        series.map(move |one| format!("{prefix}_{}", one.keepa_name()))
    })
}

/// Numbers of the finder; each has a lower and an upper bound, and results can be sorted by it.
pub(super) fn figures() -> impl Iterator<Item = String> {
    let months = (0..3).flat_map(|year| (0..12).map(move |month| format!("srAvg{year}{month:02}")));
    let bounded = BOUNDED.split_whitespace().map(str::to_owned);
    family(RANGES).chain(months).chain(bounded)
}

/// All fields of the finder.
pub(super) fn finder() -> Vec<Field> {
    let numbers = figures().flat_map(|name| {
        let holds = if name == "unitValue" {
            Holds::Number
        } else {
            Holds::Whole
        };
        [
            (format!("{name}_gte"), holds),
            (format!("{name}_lte"), holds),
        ]
    });
    let switches = family(SWITCHES).map(|name| (name, Holds::Switch));
    numbers.chain(switches).chain(listed(&PLAIN)).collect()
}

/// All fields of a deal query.
pub(super) fn deals() -> Vec<Field> {
    listed(&DEALS).collect()
}
