//! `tollgate review`.

use serde_json::json;
use tollgate_core::store::{ReviewItem, ReviewStatus};

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
            note,
            token,
        } => {
            let item = find(gateway.store().review(id).await?, id)?;
            if item.status == ReviewStatus::Resolved {
                return Err(Stop::usage(format!("`{id}` is resolved")));
            }
            let shown = format!(
                "\nRESOLVE {id} AS {}\n  tool     {}\n  reasons  {}\n  result   {}\n",
                resolution.as_str(),
                visible(&item.subject),
                item.reasons.join(", "),
                visible(&item.preview)
            );
            let by = terminal::establish(token.as_deref(), &shown, gateway, scene).await?;
            gateway
                .resolve_review(&item, resolution.as_str(), note.as_deref(), &by)
                .await?;
            let item = find(gateway.store().review(id).await?, id)?;
            show(&item, scene)?;
        }
    }
    wired.close().await;
    Ok(Exit::Ok)
}

fn find(item: Option<ReviewItem>, id: &str) -> Result<ReviewItem, Stop> {
    item.ok_or_else(|| Stop::usage(format!("there is no review item `{id}`")))
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
        scene.console.pretty(&json!(item))?;
    }
    Ok(())
}
