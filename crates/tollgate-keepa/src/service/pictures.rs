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
        let saved = save(world, params.text(&["out"]).as_deref(), &own, bytes)?;
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
    let wanted = params.text(&["out"]);
    let format = Drawing::wanted(params, wanted.as_deref())?;
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
    let Some(chart) = chart::charts(product, &only) else {
        let error = Error::new(Kind::HistoryEmpty, "there is nothing to draw");
        return Err(fetched.failed(error));
    };
    let drops = chart.svg.matches("class=\"drop\"").count();
    let own = format!("chart-{}.{}", product.asin(), format.name());
    let bytes = match format {
        Drawing::Svg => chart.svg.into_bytes(),
        Drawing::Png => {
            let painted = world.paint(chart).await;
            painted.map_err(|error| fetched.failed(error))?
        }
    };
    let saved = save(world, wanted.as_deref(), &own, &bytes)?;
    let data = json!({
        "view": "charts",
        "asin": product.asin(),
        "format": format.name(),
        "drops_marked": drops,
        "output": saved,
        "cache_provenance": fetched.provenance,
    });
    Ok(fetched.outcome(data))
}

/// How a chart is written.
#[derive(Clone, Copy)]
enum Drawing {
    Svg,
    Png,
}

impl Drawing {
    /// What is asked for, else what the file is called.
    fn wanted(params: &Params, file: Option<&str>) -> Result<Self, Error> {
        let format = params.text(&["format"]);
        let ending = file.and_then(|file| file.rsplit_once('.')).map(|it| it.1);
        match format.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some(other) => Err(Error::argument(format!("`{other}` is neither svg nor png"))),
            None if ending.is_some_and(|it| it.eq_ignore_ascii_case("png")) => Ok(Self::Png),
            None => Ok(Self::Svg),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}
