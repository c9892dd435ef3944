//! Whether what a client saw is what its cell asks for.

use serde_json::Value;

use super::cells::{Cell, LAST_WORDS, Scenario};

/// How long the texts of another server's answer may be together.
const TEXT_LIMIT: usize = 32 << 10;

type Judged = Result<(), String>;

pub(super) fn judge(cell: &Cell, saw: &Value) -> Judged {
    let thrown = saw["thrown"].as_str();
    if cell.scenario == Scenario::Violation {
        let is_reported = thrown.is_some_and(|thrown| thrown.contains(&cell.says));
        return is(is_reported, "the client does not validate answers", saw);
    }
    if let Some(thrown) = thrown {
        return Err(format!("the client threw {thrown}"));
    }
    if cell.scenario == Scenario::Cancel {
        return is(saw["cancelled"] == true, "it ended on its own", saw);
    }
    let result = &saw["result"];
    let failed = matches!(cell.scenario, Scenario::Error | Scenario::Refusal);
    is(
        (result["isError"] == true) == failed,
        "`isError` is wrong",
        result,
    )?;
    let texts = texts(result);
    let has_text = texts.concat().contains(&cell.says);
    is(has_text, "the text is missing", result)?;
    match cell.scenario {
        Scenario::Refusal => refusal(result),
        Scenario::Image => image(result),
        Scenario::Large => large(saw, &texts),
        Scenario::Progress => progress(saw),
        Scenario::Sampling => is(asked(saw, "sampling"), "it was not asked", saw),
        Scenario::Elicitation => is(asked(saw, "elicitation"), "it was not asked", saw),
        Scenario::Roots => is(asked(saw, "roots"), "it was not asked", saw),
        Scenario::Success | Scenario::Error | Scenario::Cancel | Scenario::Violation => Ok(()),
    }
}

fn is(holds: bool, problem: &str, saw: &Value) -> Judged {
    if holds {
        return Ok(());
    }
    let shown: String = saw.to_string().chars().take(2000).collect();
    Err(format!("{problem}: {shown}"))
}

fn asked(saw: &Value, kind: &str) -> bool {
    let asked = saw["asked"].as_array().unwrap();
    asked.iter().any(|one| one == kind)
}

fn blocks<'r>(result: &'r Value, kind: &'static str) -> impl Iterator<Item = &'r Value> {
    let content = result["content"].as_array().into_iter().flatten();
    content.filter(move |block| block["type"] == kind)
}

fn texts(result: &Value) -> Vec<&str> {
    let texts = blocks(result, "text").map(|block| block["text"].as_str().unwrap());
    texts.collect()
}

/// The text alone leads to consent: which approval it is about, and what a human types.
fn refusal(result: &Value) -> Judged {
    let text = texts(result).first().copied().unwrap_or_default();
    let error: Value = serde_json::from_str(text).unwrap_or_default();
    is(
        error["kind"] == "confirmation_required",
        "the text is no question for consent",
        result,
    )?;
    let id = error["details"]["approval_id"].as_str().unwrap_or_default();
    is(!id.is_empty(), "the approval's id is missing", result)?;
    let command = format!("tollgate approvals approve {id}");
    is(text.contains(&command), "the command is missing", result)
}

fn image(result: &Value) -> Judged {
    let png = |block: &Value| {
        let data = block["data"].as_str().unwrap_or_default();
        block["mimeType"] == "image/png" && data.starts_with("iVBORw0KGgo")
    };
    is(
        blocks(result, "image").any(png),
        "the picture is missing",
        result,
    )
}

/// Cut to its limit, said so, and readable to its end by its links: the whole, and each piece.
fn large(saw: &Value, texts: &[&str]) -> Judged {
    let result = &saw["result"];
    let size: usize = texts.iter().map(|text| text.len()).sum();
    is(size <= TEXT_LIMIT, "it was not cut", result)?;
    let text = texts.concat();
    is(!text.contains(LAST_WORDS), "its end is in the text", result)?;
    let says = |word| texts.last().is_some_and(|last| last.contains(word));
    is(says("truncated_output"), "the notice is missing", result)?;
    let manifest = texts.iter().any(|it| it.contains("mcp_resource_manifest"));
    is(manifest, "the manifest is missing", result)?;
    let links = blocks(result, "resource_link").count();
    let read = saw["read"].as_array().into_iter().flatten();
    let read: Vec<&str> = read.filter_map(Value::as_str).collect();
    is(
        links > 1 && read.len() == links,
        "a link cannot be read",
        saw,
    )?;
    let (whole, pieces) = (read[0], &read[1..]);
    is(whole.contains(LAST_WORDS), "its end cannot be read", saw)?;
    is(
        whole == pieces.concat(),
        "the pieces are not the whole",
        saw,
    )
}

/// Every step is reported, in order.
fn progress(saw: &Value) -> Judged {
    let steps = saw["progress"].as_array().unwrap();
    let steps: Vec<Option<f64>> = steps.iter().map(|step| step[0].as_f64()).collect();
    is(
        steps == [1.0, 2.0, 3.0, 4.0].map(Some),
        "progress is missing",
        saw,
    )
}
