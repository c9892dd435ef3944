//! Sections that say how a product is presented, packed and varied.

use serde_json::{Map, Value, json};

use super::{compact, facts::renamed};
use crate::product::Product;

const SAMPLE: usize = 5;
const FEATURES: usize = 12;
const PICTURES: &str = "https://m.media-amazon.com/images/I/";

/// The beginning of a text, with dots where something was cut.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(3)).collect();
    kept + "..."
}

fn picture(name: &Value) -> Option<String> {
    let name = name.as_str().filter(|name| !name.is_empty())?;
    Some(if name.starts_with("http") {
        name.to_owned()
    } else {
        format!("{PICTURES}{name}")
    })
}

pub(super) fn media(product: &Product) -> Value {
    let mut images: Vec<Value> = product
        .items("images")
        .iter()
        .map(|one| {
            compact(json!({
                "large": picture(&one["l"]),
                "medium": picture(&one["m"]),
                "large_width": one["lW"],
                "large_height": one["lH"],
            }))
        })
        .collect();
    if let (true, Some(names)) = (
        images.is_empty(),
        product.field("imagesCSV").and_then(Value::as_str),
    ) {
        let names = names
            .split(',')
            .map(|name| json!({"large": picture(&json!(name.trim()))}));
        images.extend(names);
    }
    let videos = product.items("videos");
    let shown = videos.iter().take(SAMPLE).map(|one| {
        compact(json!({
            "title": one["title"],
            "url": one["url"],
            "duration_seconds": one["duration"],
            "creator": one["creator"],
        }))
    });
    let shown: Vec<Value> = shown.collect();
    let count = images.len();
    images.truncate(SAMPLE);
    compact(json!({
        "image_count": count,
        "images": images,
        "video_count": videos.len(),
        "videos": shown,
    }))
}

pub(super) fn aplus(product: &Product) -> Value {
    let blocks = product.items("aPlus");
    if blocks.is_empty() {
        return json!({"available": false});
    }
    let modules: Vec<&Value> = blocks
        .iter()
        .filter_map(|one| one["module"].as_array())
        .flatten()
        .collect();
    let all = |name: &str| -> Vec<&Value> {
        modules
            .iter()
            .filter_map(|one| one[name].as_array())
            .flatten()
            .collect()
    };
    let sample = |name: &str| -> Vec<String> {
        let texts = all(name).into_iter().filter_map(Value::as_str);
        texts
            .take(SAMPLE)
            .map(|text| shortened(text, 240))
            .collect()
    };
    let pictures: Vec<String> = all("image")
        .into_iter()
        .filter_map(picture)
        .take(SAMPLE)
        .collect();
    compact(json!({
        "available": true,
        "block_count": blocks.len(),
        "module_count": modules.len(),
        "image_count": all("image").len(),
        "video_count": all("video").len(),
        "images": pictures,
        "image_alt_text": sample("imageAltText"),
        "text_samples": sample("text"),
    }))
}

pub(super) fn content(product: &Product) -> Value {
    let cut = |name: &str, limit: usize| {
        let text = product.field(name).and_then(Value::as_str);
        text.map(|text| shortened(text, limit))
    };
    let features: Vec<&Value> = product.items("features").iter().take(FEATURES).collect();
    let mut content = json!({
        "features": features,
        "description": cut("description", 1000),
        "ingredients": cut("ingredients", 1000),
        "safety_warning": cut("safetyWarning", 500),
        "product_benefit": cut("productBenefit", 500),
    });
    for (name, value) in renamed(
        product,
        &[
            ("active_ingredients", "activeIngredients"),
            ("special_ingredients", "specialIngredients"),
            ("recommended_uses_for_product", "recommendedUsesForProduct"),
            ("target_audience_keyword", "targetAudienceKeyword"),
            ("size", "size"),
            ("scent", "scent"),
            ("color", "color"),
            ("item_form", "itemForm"),
            ("binding", "binding"),
            ("languages", "languages"),
        ],
    ) {
        content[name] = value;
    }
    compact(content)
}

pub(super) fn logistics(product: &Product) -> Value {
    let measures = |prefix: &str| -> Map<String, Value> {
        let names = ["Length", "Width", "Height", "Weight", "Quantity"].into_iter();
        let found = names.filter_map(|name| {
            let value = product.field(&format!("{prefix}{name}"))?;
            let is_known = value.as_i64().is_none_or(|number| number >= 0);
            is_known.then(|| (name.to_lowercase(), value.clone()))
        });
        found.collect()
    };
    let mut all = renamed(
        product,
        &[
            ("is_heat_sensitive", "isHeatSensitive"),
            ("is_eligible_for_trade_in", "isEligibleForTradeIn"),
            (
                "is_eligible_for_super_saver_shipping",
                "isEligibleForSuperSaverShipping",
            ),
            ("is_sns", "isSNS"),
            ("fba_fees", "fbaFees"),
            ("referral_fee_percent", "referralFeePercent"),
            ("referral_fee_percentage", "referralFeePercentage"),
            ("unit_count", "unitCount"),
            ("hazardous_materials", "hazardousMaterials"),
        ],
    );
    all.insert("package".to_owned(), Value::Object(measures("package")));
    all.insert("item".to_owned(), Value::Object(measures("item")));
    compact(Value::Object(all))
}

pub(super) fn variations(product: &Product) -> Value {
    let all = product.items("variations");
    compact(json!({
        "parent_asin": product.field("parentAsin"),
        "variation_count": (!all.is_empty()).then_some(all.len()),
        "sample": all.iter().take(SAMPLE).collect::<Vec<_>>(),
        "parent_asin_history": product.field("parentAsinHistory"),
    }))
}
