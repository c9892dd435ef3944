//! The graph of one product: who makes it, where it is listed, who sells it, what it comes as.

use serde_json::{Value, json};

use super::{Graph, id_part};
use crate::product::Product;

/// How many variations are shown.
const VARIATIONS: usize = 5;

/// Builds it.
pub fn of_product(product: &Product) -> Graph {
    let text = |name: &str| {
        product
            .field(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let root = format!("product:{}", product.asin());
    let mut graph = Graph::rooted(root.as_str());
    let attributes = json!({
        "asin": product.asin(),
        "brand": text("brand"),
        "product_group": text("productGroup"),
        "item_type_keyword": text("itemTypeKeyword"),
    });
    graph.node(
        &root,
        "product",
        text("title").unwrap_or(product.asin()),
        attributes,
    );
    let (brand, maker) = (text("brand"), text("manufacturer"));
    if let Some(brand) = brand {
        let id = format!("brand:{}", id_part(brand));
        graph.node(&id, "brand", brand, json!({"manufacturer": maker}));
        graph.edge(&root, "made_by", &id, "identity.brand");
    }
    if let Some(maker) = maker.filter(|maker| Some(*maker) != brand) {
        let id = format!("manufacturer:{}", id_part(maker));
        graph.node(&id, "manufacturer", maker, Value::Null);
        graph.edge(&root, "manufactured_by", &id, "identity.manufacturer");
    }
    categories(product, &root, &mut graph);
    if let Some(seller) = product.stat("buyBoxSellerId").and_then(Value::as_str) {
        let id = format!("seller:{seller}");
        let attributes = json!({
            "seller_id": seller,
            "is_fba": product.stat("buyBoxIsFBA"),
            "is_amazon": product.stat("buyBoxIsAmazon"),
            "is_prime_eligible": product.stat("buyBoxIsPrimeEligible"),
        });
        graph.node(&id, "seller", seller, attributes);
        graph.edge(&root, "buybox_sold_by", &id, "pricing.buy_box.seller_id");
    }
    variations(product, &root, &mut graph);
    graph
}

fn categories(product: &Product, root: &str, graph: &mut Graph) {
    let mut above: Option<String> = None;
    for entry in product.items("categoryTree") {
        let Some(number) = entry["catId"].as_i64() else {
            continue;
        };
        let id = format!("category:{number}");
        let label = entry["name"]
            .as_str()
            .map_or_else(|| number.to_string(), str::to_owned);
        graph.node(&id, "category", &label, json!({"category_id": number}));
        if let Some(above) = above {
            graph.edge(&above, "parent_of", &id, "category.category_tree");
        }
        above = Some(id);
    }
    if let Some(leaf) = above {
        graph.edge(root, "in_category", &leaf, "category.category_tree");
    }
}

fn variations(product: &Product, root: &str, graph: &mut Graph) {
    let parent = product.field("parentAsin").and_then(Value::as_str);
    if let Some(parent) = parent.filter(|parent| !parent.is_empty() && *parent != product.asin()) {
        let id = format!("product:{parent}");
        graph.node(
            &id,
            "product",
            parent,
            json!({"asin": parent, "role": "parent"}),
        );
        graph.edge(root, "variation_of", &id, "variations.parent_asin");
    }
    for one in product.items("variations").iter().take(VARIATIONS) {
        let asin = one["asin"].as_str().unwrap_or_default();
        if asin.is_empty() || asin == product.asin() {
            continue;
        }
        let id = format!("product:{asin}");
        let attributes = json!({"asin": asin, "attributes": one["attributes"]});
        graph.node(&id, "variation", asin, attributes);
        graph.edge(root, "has_variation", &id, "variations.sample");
    }
}
