//! What is done to a page is done at the site that was meant, or shown to whoever agreed.

use serde_json::{Value, json};
use tollgate_core::{CallContext, CallId, Payload, Provider, ProviderError, ToolCall, ToolName};
use tollgate_providers::browser::{self, Settings};
use tollgate_testkit::fakes::context;

use crate::browser::{data, id, run, settings, site_of};

/// Pages of one site, some with a frame of another.
async fn site(other: String) -> String {
    site_of(move |path| {
        Some(match path {
            "/frame" => format!("<title>Outer</title><button>Outside</button><iframe src='{other}/pay' width=300 height=200></iframe>"),
            "/pay" => "<title>Pay</title><button onclick=\"this.textContent='Paid'\">Pay</button><input aria-label=Code>".to_owned(),
            "/leaving" => format!("<title>Shop</title><button onclick=\"document.title='pressed'\">Buy</button><a href='{other}/lure'>Away</a>"),
            "/lure" => "<title>Lure</title><button onclick=\"document.title='lured'\">Buy</button>".to_owned(),
            "/form" => "<title>Form</title><form action=/pay><input list=all aria-label=City><datalist id=all><option>Rome</datalist><label>Street <input></label><button>Send</button></form>".to_owned(),
            _ => format!("<title>Done</title><p>{path}</p>"),
        })
    })
    .await
}

/// A provider, the site and the other site it leads to.
async fn world(folder: &tempfile::TempDir) -> (impl Provider, String, String) {
    let other = site(String::new()).await;
    // The same machine by another name is another site, with a process of its own.
    let other = other.replace("127.0.0.1", "localhost");
    let here = site(other.clone()).await;
    let settings = Settings {
        allow_hosts: vec!["127.0.0.1".to_owned(), "localhost".to_owned()],
        ..settings(folder)
    };
    (browser::provider(settings), here, other)
}

/// The elements of the page, as soon as one of them is there.
async fn seen(provider: &dyn Provider, label: &str, cx: &CallContext) -> Value {
    loop {
        let info = data(provider, "get_page_info", json!({}), cx).await;
        let all = info["elements"].as_array().unwrap();
        if all.iter().any(|it| it["label"] == label) {
            return info;
        }
    }
}

/// What somebody is shown who is asked.
async fn asked(
    provider: &dyn Provider,
    tool: &str,
    arguments: &Value,
    cx: &CallContext,
) -> Result<String, ProviderError> {
    let call = ToolCall {
        id: CallId("call-1".into()),
        tool: ToolName::new(format!("browser.{tool}")).unwrap(),
        arguments: Payload::from_serialize(arguments).unwrap(),
    };
    let shown = provider.preview(&call, cx).await?;
    Ok(shown.expect("something is shown"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_a_frame_is_at_the_site_of_the_frame() {
    let folder = tempfile::tempdir().unwrap();
    let ((provider, here, other), cx) = (world(&folder).await, context());
    let outer = format!("{here}/frame");
    data(&provider, "navigate", json!({"url": outer}), &cx).await;
    let info = seen(&provider, "Pay", &cx).await;
    let (pay, code) = (id(&info, "Pay"), id(&info, "Code"));
    for (tool, arguments) in [
        ("click", json!({"element_id": pay, "url": outer})),
        ("click_and_wait", json!({"element_id": pay, "url": outer})),
        (
            "type_text",
            json!({"element_id": code, "text": "7", "url": outer}),
        ),
        (
            "set_value",
            json!({"element_id": code, "value": "7", "url": outer}),
        ),
    ] {
        let refused = run(&provider, tool, arguments, &cx).await.unwrap_err();
        assert_eq!(
            (refused.document_code.as_deref(), &refused.details["page"]),
            (Some("INVALID_PARAMETER"), &json!(other)),
            "{tool}"
        );
    }
    let fields = json!([{"element_id": code, "value": "7"}]);
    let form = json!({"fields": fields, "url": outer});
    let filled = data(&provider, "fill_form", form, &cx).await;
    assert_eq!(filled["failed"][0]["errorCode"], "INVALID_PARAMETER");
    let shown = asked(&provider, "click", &json!({"element_id": pay}), &cx).await;
    let wanted = format!("on {outer}, in a frame of {other}: the button “Pay”");
    assert_eq!(shown.unwrap(), wanted);

    let inner = format!("{other}/pay");
    let click = json!({"element_id": pay, "url": inner});
    data(&provider, "click", click, &cx).await;
    seen(&provider, "Paid", &cx).await;
    // The frame has the focus, so keys go to it and not to the page around it.
    let press = |url: &str| json!({"key": "Tab", "url": url});
    let refused = run(&provider, "press_key", press(&outer), &cx).await;
    assert_eq!(refused.unwrap_err().details["page"], json!(other));
    data(&provider, "press_key", press(&inner), &cx).await;
    let outside = json!({"element_id": id(&info, "Outside"), "url": inner});
    assert!(run(&provider, "click", outside, &cx).await.is_err());
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_holds_at_the_site_that_was_shown() {
    let folder = tempfile::tempdir().unwrap();
    let ((provider, here, other), cx) = (world(&folder).await, context());
    let ask = async |tool: &str, arguments: Value| data(&provider, tool, arguments, &cx).await;
    let leaving = json!({"url": format!("{here}/leaving")});
    ask("navigate", leaving.clone()).await;
    let buy = id(&seen(&provider, "Buy", &cx).await, "Buy");
    let click = json!({"element_id": buy});
    let shown = asked(&provider, "click", &click, &cx).await.unwrap();
    assert!(shown.starts_with(&format!("on {here}/leaving")), "{shown}");
    // The page goes elsewhere by itself, where something is called the same.
    ask("navigate", json!({"url": format!("{other}/lure")})).await;
    // Asked once more, nobody is shown a page that the open question is not about.
    let again = asked(&provider, "click", &click, &cx).await.unwrap_err();
    assert!(again.message.contains("`url`"), "{again:?}");
    let refused = run(&provider, "click", click.clone(), &cx).await;
    assert_eq!(
        refused.unwrap_err().document_code.as_deref(),
        Some("INVALID_PARAMETER")
    );
    let script = json!({"script": "document.title"});
    assert_eq!(ask("execute_javascript", script).await["result"], "Lure");

    // At the site that was shown it is done, once; what nobody was asked about is not held.
    ask("navigate", leaving).await;
    let buy = id(&seen(&provider, "Buy", &cx).await, "Buy");
    let click = json!({"element_id": buy});
    asked(&provider, "click", &click, &cx).await.unwrap();
    let done = ask("click", click).await;
    assert_eq!(done["page"]["title"], "pressed");
    let script = json!({"script": "location.host"});
    asked(&provider, "execute_javascript", &script, &cx)
        .await
        .unwrap();
    ask("navigate", json!({"url": format!("{other}/lure")})).await;
    assert!(
        run(&provider, "execute_javascript", script, &cx)
            .await
            .is_err()
    );
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_takes_lists_that_can_be_typed_into_and_names_what_is_near() {
    let folder = tempfile::tempdir().unwrap();
    let ((provider, here, _), cx) = (world(&folder).await, context());
    let ask = async |tool: &str, arguments: Value| data(&provider, tool, arguments, &cx).await;
    ask("navigate", json!({"url": format!("{here}/form")})).await;
    let info = seen(&provider, "City", &cx).await;
    let (city, street) = (id(&info, "City"), id(&info, "Street"));
    let fields = json!([{"element_id": city, "value": "Rome"}, {"element_id": "btn_Street_9999", "value": "x"}]);
    let filled = ask("fill_form", json!({"fields": fields})).await;
    assert_eq!(filled["filled"], json!([city]));
    let failed = &filled["failed"][0];
    assert_eq!(failed["errorCode"], "ELEMENT_NOT_FOUND");
    let near = failed["candidates"]
        .as_array()
        .unwrap_or_else(|| panic!("{failed}"));
    assert!(near.len() <= 5, "{failed}");
    let fields = json!([{"element_id": "input_Street_9999", "value": "x"}]);
    let filled = ask("fill_form", json!({"fields": fields})).await;
    assert_eq!(filled["success"], true, "{filled}: {street}");
    provider.close().await;
}
