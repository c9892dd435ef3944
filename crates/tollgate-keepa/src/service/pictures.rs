//! Pictures: Keepa's own, and ours.

use serde_json::{Value, json};

use super::{Failure, Outcome, World, fetch::fetch, history, save};
use crate::{Command, Error, Kind, Params, Product, chart};

/// `graphs.image`.
pub(super) async fn image<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let fetched = fetch(world, Command::GraphsImage, params).await?;
    let mut data = Value::Object(fetched.base());
    if let Some((bytes, content_type)) = &fetched.picture {
        let own = format!("graph-{}.png", params.required("asin")?);
        let saved = save(
            world,
            params.text(&["out", "output"]).as_deref(),
            &own,
            bytes,
        )?;
        data["out"] = saved["path"].clone();
        data["bytes_written"] = saved["bytes_written"].clone();
        data["content_type"] = Value::from(content_type.as_str());
        data["output"] = saved;
    }
    Ok(fetched.outcome(data))
}

/// `charts.render`.
pub(super) async fn charts<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let only = if params.list(&["series"]).is_empty() {
        Vec::new()
    } else {
        history::wanted(params)?
    };
    let fetched = fetch(world, Command::ChartsRender, params).await?;
    let Some(text) = &fetched.text else {
        let data = Value::Object(fetched.base());
        return Ok(fetched.outcome(data));
    };
    let products = Product::read_all(text).map_err(|error| fetched.failed(error))?;
    let Some(product) = products.first() else {
        let error = Error::new(Kind::ProductNotFound, "Keepa knows no such product");
        return Err(fetched.failed(error));
    };
    let Some(svg) = chart::charts(product, &only) else {
        let error = Error::new(Kind::HistoryEmpty, "there is nothing to draw");
        return Err(fetched.failed(error));
    };
    let own = format!("chart-{}.svg", product.asin());
    let saved = save(
        world,
        params.text(&["out", "output"]).as_deref(),
        &own,
        svg.as_bytes(),
    )?;
    let data = json!({
        "view": "charts",
        "asin": product.asin(),
        "format": "svg",
        "drops_marked": svg.matches("class=\"drop\"").count(),
        "output": saved,
        "cache_provenance": fetched.provenance,
    });
    Ok(fetched.outcome(data))
}
