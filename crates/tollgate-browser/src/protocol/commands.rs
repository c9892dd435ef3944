//! The commands that are sent, and what is read of their answers.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Command;

/// Nothing of the answer is read.
#[derive(Debug, Deserialize)]
pub(crate) struct Nothing {}

/// Declares commands: what they always carry, what they may carry, and their answer.
macro_rules! commands {
    ($($name:ident = $method:literal { $($field:ident: $type:ty),* $(,)? } { $($maybe:ident: $other:ty),* $(,)? } -> $answer:ty;)*) => {
        $(
            #[derive(Debug, Clone, Default, Serialize)]
            #[serde(rename_all = "camelCase")]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)*
                $(#[serde(skip_serializing_if = "Option::is_none")] pub(crate) $maybe: Option<$other>,)*
            }

            impl Command for $name {
                const METHOD: &'static str = $method;
                type Answer = $answer;
            }
        )*
    };
}

commands! {
    GetVersion = "Browser.getVersion" {} {} -> Version;
    Processes = "SystemInfo.getProcessInfo" {} {} -> ProcessList;
    CloseBrowser = "Browser.close" {} {} -> Nothing;
    SetDownloads = "Browser.setDownloadBehavior" { behavior: &'static str, browser_context_id: String, events_enabled: bool } { download_path: String } -> Nothing;
    CancelDownload = "Browser.cancelDownload" { guid: String, browser_context_id: String } {} -> Nothing;
    AutoAttach = "Target.setAutoAttach" { auto_attach: bool, wait_for_debugger_on_start: bool, flatten: bool } {} -> Nothing;
    CreateContext = "Target.createBrowserContext" { dispose_on_detach: bool, proxy_server: String, proxy_bypass_list: String } {} -> Context;
    DisposeContext = "Target.disposeBrowserContext" { browser_context_id: String } {} -> Nothing;
    CreateTarget = "Target.createTarget" { url: String, browser_context_id: String } { new_window: bool, background: bool } -> Target;
    CloseTarget = "Target.closeTarget" { target_id: String } {} -> Nothing;
    DetachTarget = "Target.detachFromTarget" { session_id: String } {} -> Nothing;
    ActivateTarget = "Target.activateTarget" { target_id: String } {} -> Nothing;
    FocusEmulation = "Emulation.setFocusEmulationEnabled" { enabled: bool } {} -> Nothing;
    RunIfWaiting = "Runtime.runIfWaitingForDebugger" {} {} -> Nothing;
    EnableRuntime = "Runtime.enable" {} {} -> Nothing;
    EnablePage = "Page.enable" {} {} -> Nothing;
    EnableNetwork = "Network.enable" {} { max_total_buffer_size: u64, max_resource_buffer_size: u64 } -> Nothing;
    EnableLog = "Log.enable" {} {} -> Nothing;
    EnableStorage = "DOMStorage.enable" {} {} -> Nothing;
    EnableInspector = "Inspector.enable" {} {} -> Nothing;
    EnableFetch = "Fetch.enable" { patterns: Vec<RequestPattern> } {} -> Nothing;
    ContinueRequest = "Fetch.continueRequest" { request_id: String } { headers: Vec<Sent> } -> Nothing;
    FailRequest = "Fetch.failRequest" { request_id: String, error_reason: &'static str } {} -> Nothing;
    FulfillRequest = "Fetch.fulfillRequest" { request_id: String, response_code: u32, response_headers: Vec<Header> } {} -> Nothing;
    Lifecycle = "Page.setLifecycleEventsEnabled" { enabled: bool } {} -> Nothing;
    AddScript = "Page.addScriptToEvaluateOnNewDocument" { source: String, world_name: String } { run_immediately: bool } -> Nothing;
    IsolatedWorld = "Page.createIsolatedWorld" { frame_id: String, world_name: String } {} -> World;
    Navigate = "Page.navigate" { url: String } {} -> Navigated;
    StopLoading = "Page.stopLoading" {} {} -> Nothing;
    History = "Page.getNavigationHistory" {} {} -> Entries;
    GoTo = "Page.navigateToHistoryEntry" { entry_id: i64 } {} -> Nothing;
    Terminate = "Runtime.terminateExecution" {} {} -> Nothing;
    HandleDialog = "Page.handleJavaScriptDialog" { accept: bool } { prompt_text: String } -> Nothing;
    Screenshot = "Page.captureScreenshot" { format: &'static str, capture_beyond_viewport: bool } { quality: u32, clip: Clip } -> Picture;
    LayoutMetrics = "Page.getLayoutMetrics" {} {} -> Metrics;
    Call = "Runtime.callFunctionOn" { function_declaration: String, arguments: Vec<Argument>, await_promise: bool, return_by_value: bool } { execution_context_id: i64, object_id: String, user_gesture: bool } -> Evaluated;
    Evaluate = "Runtime.evaluate" { expression: String, await_promise: bool, return_by_value: bool } { timeout: f64, repl_mode: bool } -> Evaluated;
    PartialTree = "Accessibility.getPartialAXTree" { fetch_relatives: bool } { backend_node_id: i64 } -> AxTree;
    FullTree = "Accessibility.getFullAXTree" {} { frame_id: String } -> AxTree;
    Snapshot = "DOMSnapshot.captureSnapshot" { computed_styles: Vec<&'static str> } {} -> Documents;
    ResolveNode = "DOM.resolveNode" {} { backend_node_id: i64, execution_context_id: i64 } -> Resolved;
    DescribeNode = "DOM.describeNode" { object_id: String } {} -> Described;
    ContentQuads = "DOM.getContentQuads" {} { backend_node_id: i64, object_id: String } -> Quads;
    BoxModel = "DOM.getBoxModel" {} { backend_node_id: i64 } -> Boxed;
    ScrollIntoView = "DOM.scrollIntoViewIfNeeded" {} { backend_node_id: i64 } -> Nothing;
    FrameOwner = "DOM.getFrameOwner" { frame_id: String } {} -> Owner;
    Focus = "DOM.focus" {} { backend_node_id: i64 } -> Nothing;
    SetFiles = "DOM.setFileInputFiles" { files: Vec<String> } { backend_node_id: i64 } -> Nothing;
    Mouse = "Input.dispatchMouseEvent" { r#type: &'static str, x: f64, y: f64 } { button: &'static str, buttons: u32, click_count: u32, delta_x: f64, delta_y: f64 } -> Nothing;
    Key = "Input.dispatchKeyEvent" { r#type: &'static str } { key: String, code: String, text: String, windows_virtual_key_code: u32, modifiers: u32, commands: Vec<&'static str> } -> Nothing;
    InsertText = "Input.insertText" { text: String } {} -> Nothing;
    GetItems = "DOMStorage.getDOMStorageItems" { storage_id: StorageArea } {} -> Items;
    GetCookies = "Storage.getCookies" { browser_context_id: String } {} -> Cookies;
    SetCookies = "Storage.setCookies" { cookies: Vec<BTreeMap<String, Value>>, browser_context_id: String } {} -> Nothing;
}

/// What the browser is.
#[derive(Debug, Deserialize)]
pub(crate) struct Version {
    pub(crate) product: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessList {
    pub(crate) process_info: Vec<OneProcess>,
}

/// A process of the browser.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OneProcess {
    pub(crate) r#type: String,
    pub(crate) id: i32,
    /// The time it has worked so far, in seconds.
    pub(crate) cpu_time: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Context {
    pub(crate) browser_context_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Target {
    pub(crate) target_id: String,
}

/// Which requests are held back.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestPattern {
    pub(crate) url_pattern: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_type: Option<&'static str>,
}

/// A header of a request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sent {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// A header of an answer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) value: &'static str,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct World {
    pub(crate) execution_context_id: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Navigated {
    pub(crate) loader_id: Option<String>,
    pub(crate) error_text: Option<String>,
    #[serde(default)]
    pub(crate) is_download: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entries {
    pub(crate) current_index: usize,
    pub(crate) entries: Vec<HistoryEntry>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HistoryEntry {
    pub(crate) id: i64,
    pub(crate) url: String,
}

/// A part of the page.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Clip {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) scale: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Picture {
    pub(crate) data: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metrics {
    pub(crate) css_content_size: Size,
    pub(crate) css_visual_viewport: Viewport,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Viewport {
    pub(crate) page_x: f64,
    pub(crate) page_y: f64,
    pub(crate) client_width: f64,
    pub(crate) client_height: f64,
}

/// An argument of a function that runs in a page.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Argument {
    Value(Value),
    /// Something in the page, by the id that the browser gave it.
    ObjectId(String),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Evaluated {
    #[serde(default)]
    pub(crate) result: Remote,
    pub(crate) exception_details: Option<Exception>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remote {
    pub(crate) value: Option<Value>,
    pub(crate) unserializable_value: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) object_id: Option<String>,
}

impl Remote {
    /// The value as a console shows it.
    pub(crate) fn said(&self) -> String {
        match (&self.value, &self.unserializable_value, &self.description) {
            (Some(Value::String(text)), _, _) => text.clone(),
            (_, _, Some(text)) | (_, Some(text), None) => text.clone(),
            (Some(value), None, None) => value.to_string(),
            (None, None, None) => "undefined".to_owned(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Exception {
    pub(crate) text: String,
    pub(crate) exception: Option<Remote>,
}

impl Exception {
    /// What went wrong, without the places in the script.
    pub(crate) fn said(&self) -> String {
        let told = self.exception.as_ref().and_then(|it| {
            let value = it.value.as_ref().map(|value| {
                let text = value.as_str().map(str::to_owned);
                text.unwrap_or_else(|| value.to_string())
            });
            it.description.clone().or(value)
        });
        let told = told.unwrap_or_else(|| self.text.clone());
        told.lines().next().unwrap_or_default().to_owned()
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct AxTree {
    pub(crate) nodes: Vec<AxNode>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AxNode {
    pub(crate) node_id: String,
    #[serde(default)]
    pub(crate) ignored: bool,
    pub(crate) role: Option<AxValue>,
    pub(crate) name: Option<AxValue>,
    pub(crate) value: Option<AxValue>,
    #[serde(default)]
    pub(crate) properties: Vec<AxProperty>,
    pub(crate) parent_id: Option<String>,
    #[serde(rename = "backendDOMNodeId")]
    pub(crate) backend_node_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AxValue {
    pub(crate) value: Option<Value>,
}

impl AxValue {
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct AxProperty {
    pub(crate) name: String,
    pub(crate) value: AxValue,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Documents {
    pub(crate) documents: Vec<Document>,
    pub(crate) strings: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document {
    pub(crate) nodes: Nodes,
    pub(crate) layout: Layout,
    #[serde(default)]
    pub(crate) scroll_offset_x: f64,
    #[serde(default)]
    pub(crate) scroll_offset_y: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Nodes {
    #[serde(default)]
    pub(crate) backend_node_id: Vec<i64>,
    #[serde(default)]
    pub(crate) attributes: Vec<Vec<i64>>,
    #[serde(default)]
    pub(crate) parent_index: Vec<i64>,
    #[serde(default)]
    pub(crate) node_name: Vec<i64>,
    #[serde(default)]
    pub(crate) node_value: Vec<i64>,
    pub(crate) content_document_index: Option<Rare>,
    /// What kind of shadow tree a node is in, by the place of the word.
    pub(crate) shadow_root_type: Option<Rare>,
    /// Those that listen to clicks.
    #[serde(default)]
    pub(crate) is_clickable: Marked,
}

/// Which nodes are so.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Marked {
    pub(crate) index: Vec<usize>,
}

/// Something few nodes have.
#[derive(Debug, Deserialize)]
pub(crate) struct Rare {
    pub(crate) index: Vec<usize>,
    pub(crate) value: Vec<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Layout {
    pub(crate) node_index: Vec<usize>,
    pub(crate) bounds: Vec<Vec<f64>>,
    /// The styles that were asked for, of each node.
    #[serde(default)]
    pub(crate) styles: Vec<Vec<i64>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Resolved {
    pub(crate) object: RemoteObject,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemoteObject {
    pub(crate) object_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Described {
    pub(crate) node: Owner,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Boxed {
    pub(crate) model: BoxedModel,
}

/// Where a node is drawn.
#[derive(Debug, Deserialize)]
pub(crate) struct BoxedModel {
    pub(crate) content: Vec<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Quads {
    pub(crate) quads: Vec<Vec<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Owner {
    pub(crate) backend_node_id: i64,
    /// The frame it holds.
    pub(crate) frame_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Cookies {
    pub(crate) cookies: Vec<BTreeMap<String, Value>>,
}

/// Where pages of an origin store things.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StorageArea {
    pub(crate) storage_key: String,
    pub(crate) is_local_storage: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Items {
    pub(crate) entries: Vec<(String, String)>,
}
