//! Pictures: Keepa's own, and ours.

use serde_json::{Value, json};

use super::{
    Failure, Outcome, World, drawable::products_in, fetch::fetch, history, made_here,
    research::read_json, save,
};
use crate::{
    Command, Error, Kind, Params, Product,
    chart::{self, MOST_COMPARED},
    series::Series,
};

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

/// `charts.render`: products of Keepa's, or those that an earlier answer holds the histories of.
pub(super) async fn charts<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let only = if params.list(&["series"]).is_empty() {
        Vec::new()
    } else {
        history::wanted(params)?
    };
    let wanted = params.text(&["out"]);
    let format = Drawing::wanted(params, wanted.as_deref())?;
    let (asked, files) = (params.asins(), params.list(&["input"]));
    if asked.is_empty() == files.is_empty() {
        return Err(Error::argument("give either asin or input").into());
    }
    if !files.is_empty() {
        let payloads: Result<Vec<Value>, Error> =
            files.iter().map(|path| read_json(world, path)).collect();
        let mut products = products_in(&Value::Array(payloads?));
        if products.is_empty() {
            let message = "nothing in there has a history; compare again with keep_history_points";
            return Err(Error::new(Kind::HistoryUnavailable, message).into());
        }
        let left_out = products.len().saturating_sub(MOST_COMPARED);
        products.truncate(MOST_COMPARED);
        let mut data = drawn(world, &products, &only, format, wanted.as_deref()).await?;
        if left_out > 0 {
            data["products_left_out"] = Value::from(left_out);
        }
        data["provenance"] = made_here(Command::ChartsRender, params);
        return Ok(Outcome::local(data));
    }
    let fetched = fetch(world, Command::ChartsRender, params).await?;
    if fetched.is_dry_run() {
        let data = Value::Object(fetched.base());
        return Ok(fetched.outcome(data));
    }
    let products = fetched.products()?;
    if products.is_empty() {
        let error = Error::new(Kind::ProductNotFound, "Keepa knows no such product");
        return Err(fetched.failed(error));
    }
    let drawing = drawn(world, &products, &only, format, wanted.as_deref()).await;
    let mut data = drawing.map_err(|error| fetched.failed(error))?;
    data["cache_provenance"] = fetched.provenance.clone();
    Ok(fetched.outcome(data))
}

/// Draws one product with all its histories, or several side by side, and writes the picture.
async fn drawn<W: World>(
    world: &W,
    products: &[Product],
    only: &[Series],
    format: Drawing,
    out: Option<&str>,
) -> Result<Value, Error> {
    let chart = match products {
        [one] => chart::charts(one, only),
        several => chart::compared(several, only)?,
    };
    let nothing = || Error::new(Kind::HistoryEmpty, "there is nothing to draw");
    let chart = chart.ok_or_else(nothing)?;
    let drops = chart.drops();
    let asins: Vec<&str> = products.iter().map(Product::asin).collect();
    let own = format!("chart-{}.{}", asins.join("-"), format.name());
    let bytes = match format {
        Drawing::Svg => chart.svg.into_bytes(),
        Drawing::Png => world.paint(chart).await?,
    };
    let mut data = json!({
        "view": "charts",
        "format": format.name(),
        "drops_marked": drops,
        "output": save(world, out, &own, &bytes)?,
    });
    match asins.as_slice() {
        [one] => data["asin"] = Value::from(*one),
        several => data["asins"] = json!(several),
    }
    Ok(data)
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
