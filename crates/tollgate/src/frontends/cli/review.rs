//! `tollgate review`.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use tollgate_core::{
    Timestamp,
    store::{ReviewItem, ReviewStatus},
};
use tollgate_engine::Gateway;

use super::{
    Exit, Scene, Stop,
    arguments::{Review, ReviewAction},
    console::visible,
    terminal,
};

pub(super) async fn run(review: &Review, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let gateway = &wired.gateway;
    match &review.action {
        ReviewAction::List { all, limit } => {
            let status = (!all).then_some(ReviewStatus::Open);
            let items = gateway.store().reviews(status, *limit).await?;
            list(&items, scene)?;
        }
        ReviewAction::Show { id } => {
            let item = find(gateway.store().review(id).await?, id)?;
            show(&item, scene)?;
        }
        ReviewAction::Resolve {
            id,
            resolution,
            filter,
            note,
            token,
        } => {
            let items = match id {
                Some(id) => vec![one_open(gateway, id).await?],
                None => fitting(gateway, filter).await?,
            };
            let word = resolution.as_str();
            let shown = match items.as_slice() {
                [item] => described(item, word),
                items => summary(items, word),
            };
            let by = terminal::establish(token.as_deref(), &shown, gateway, scene).await?;
            for item in &items {
                gateway
                    .resolve_review(item, word, note.as_deref(), &by)
                    .await?;
            }
            match id {
                Some(id) => show(&find(gateway.store().review(id).await?, id)?, scene)?,
                None => resolved(&items, word, &by, scene)?,
            }
        }
    }
    wired.close().await;
    Ok(Exit::Ok)
}

/// Which open items are meant; an item has to fit everything that is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Filter {
    /// All open items
    #[arg(long)]
    all: bool,
    /// Only items that this rule opened, for instance sensitive_tool
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Only items about this tool
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only items opened before this date or time (UTC), for instance 2026-01-31 or 2026-01-31T12:00
    #[arg(long, value_name = "WHEN", value_parser = date)]
    before: Option<String>,
    /// Only items opened at least so long ago, for instance 30m, 12h or 7d
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
}

impl Filter {
    fn takes(&self, item: &ReviewItem, now: Timestamp) -> bool {
        let Self {
            all: _,
            rule,
            tool,
            before,
            older_than,
        } = self;
        let opened = item.created_at.to_string();
        rule.as_ref().is_none_or(|rule| item.reasons.contains(rule))
            && tool.as_ref().is_none_or(|tool| item.subject == *tool)
            && before.as_ref().is_none_or(|before| opened < *before)
            && older_than.is_none_or(|age| item.created_at <= now.minus(age))
    }
}

/// A date, perhaps with a time, as items print theirs; a beginning of it will do.
fn date(text: &str) -> Result<String, String> {
    const FORM: &str = "0000-00-00T00:00:00.000";
    let plain = text.strip_suffix('Z').unwrap_or(text);
    let fits = plain
        .chars()
        .zip(FORM.chars())
        .all(|(given, form)| match form {
            '0' => given.is_ascii_digit(),
            other => given == other,
        });
    if fits && (10..=FORM.len()).contains(&plain.len()) {
        Ok(plain.to_owned())
    } else {
        Err("write it like 2026-01-31 or 2026-01-31T12:00".to_owned())
    }
}

/// A number of minutes, hours or days.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "write it like 30m, 12h or 7d".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let count: u64 = text.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    let seconds = count.checked_mul(seconds).ok_or_else(wrong)?;
    Ok(Duration::from_secs(seconds))
}

/// The item of this id, if it is open.
async fn one_open(gateway: &Gateway, id: &str) -> Result<ReviewItem, Stop> {
    let item = find(gateway.store().review(id).await?, id)?;
    if item.status == ReviewStatus::Resolved {
        return Err(Stop::usage(format!("`{id}` is resolved")));
    }
    Ok(item)
}

/// The open items that fit; none is a mistake, so that nobody confirms nothing.
async fn fitting(gateway: &Gateway, filter: &Filter) -> Result<Vec<ReviewItem>, Stop> {
    let now = gateway.clock().now();
    let open = Some(ReviewStatus::Open);
    let mut items = gateway.store().reviews(open, u32::MAX).await?;
    items.retain(|item| filter.takes(item, now));
    if items.is_empty() {
        return Err(Stop::usage("no open item fits"));
    }
    Ok(items)
}

/// What a human reads before typing the code for one item.
fn described(item: &ReviewItem, resolution: &str) -> String {
    format!(
        "\nRESOLVE {} AS {resolution}\n  tool     {}\n  reasons  {}\n  result   {}\n",
        item.item_id,
        visible(&item.subject),
        item.reasons.join(", "),
        visible(&item.preview)
    )
}

/// The same for many: how many there are of each tool and reason, and from when to when.
fn summary(items: &[ReviewItem], resolution: &str) -> String {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for item in items {
        let kind = (item.subject.clone(), item.reasons.join(", "));
        *counts.entry(kind).or_default() += 1;
    }
    let mut text = format!("\nRESOLVE {} ITEMS AS {resolution}\n", items.len());
    for ((tool, reasons), count) in counts {
        text.push_str(&format!("  {count:>5}  {}  {reasons}\n", visible(&tool)));
    }
    // The newest come first.
    if let (Some(newest), Some(oldest)) = (items.first(), items.last()) {
        text.push_str(&format!(
            "  opened from {} to {}\n",
            oldest.created_at, newest.created_at
        ));
    }
    text
}

fn resolved(
    items: &[ReviewItem],
    resolution: &str,
    by: &str,
    scene: &Scene<'_>,
) -> Result<(), Stop> {
    if scene.console.is_json() {
        let ids: Vec<&str> = items.iter().map(|item| item.item_id.as_str()).collect();
        let told = json!({"resolved": ids, "resolution": resolution, "by": by});
        scene.console.json(&told)?;
    } else {
        let count = items.len();
        scene
            .console
            .line(&format!("{count} items resolved: {resolution}"))?;
    }
    Ok(())
}

fn find(item: Option<ReviewItem>, id: &str) -> Result<ReviewItem, Stop> {
    item.ok_or_else(|| {
        Stop::usage(format!(
            "there is no review item `{id}`; `tollgate review list` shows those there are"
        ))
    })
}

fn list(items: &[ReviewItem], scene: &Scene<'_>) -> Result<(), Stop> {
    if scene.console.is_json() {
        scene.console.json(&json!({"items": items}))?;
        return Ok(());
    }
    if items.is_empty() {
        scene.console.note("nothing waits for review");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = items
        .iter()
        .map(|item| {
            vec![
                item.item_id.clone(),
                item.status.as_str().to_owned(),
                item.subject.clone(),
                item.created_at.to_string(),
                item.reasons.join(","),
            ]
        })
        .collect();
    scene
        .console
        .table(&["ITEM", "STATUS", "TOOL", "SINCE", "WHY"], &rows)?;
    Ok(())
}

fn show(item: &ReviewItem, scene: &Scene<'_>) -> Result<(), Stop> {
    if scene.console.is_json() {
        scene.console.json(item)?;
    } else {
        scene.console.readable(&json!(item))?;
    }
    Ok(())
}
