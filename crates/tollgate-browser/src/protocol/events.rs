//! The events that are read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attached {
    pub(crate) session_id: String,
    pub(crate) target_info: TargetInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetInfo {
    pub(crate) target_id: String,
    pub(crate) r#type: String,
    pub(crate) browser_context_id: Option<String>,
    pub(crate) opener_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Detached {
    pub(crate) session_id: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) parent_id: Option<String>,
    #[serde(default)]
    pub(crate) loader_id: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) url_fragment: String,
    /// What could not be loaded, if this is the page that says so.
    pub(crate) unreachable_url: Option<String>,
}

impl Frame {
    pub(crate) fn address(&self) -> String {
        format!("{}{}", self.url, self.url_fragment)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct FrameNavigated {
    pub(crate) frame: Frame,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameAttached {
    pub(crate) frame_id: String,
    pub(crate) parent_frame_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameDetached {
    pub(crate) frame_id: String,
    #[serde(default)]
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WithinDocument {
    pub(crate) frame_id: String,
    pub(crate) url: String,
}

/// A frame is about to show another document, or another place of the same one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Departing {
    pub(crate) frame_id: String,
    pub(crate) url: String,
    pub(crate) loader_id: String,
    pub(crate) navigation_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LifecycleEvent {
    pub(crate) frame_id: String,
    pub(crate) loader_id: String,
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestWillBeSent {
    pub(crate) request_id: String,
    pub(crate) request: Request,
    pub(crate) r#type: Option<String>,
    /// In seconds, by a clock that does not jump.
    pub(crate) timestamp: f64,
    pub(crate) redirect_response: Option<Response>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) url: String,
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResponseReceived {
    pub(crate) request_id: String,
    #[serde(default)]
    pub(crate) loader_id: String,
    pub(crate) r#type: String,
    pub(crate) response: Response,
    pub(crate) frame_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Response {
    pub(crate) status: u32,
    #[serde(default)]
    pub(crate) mime_type: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadingEnded {
    pub(crate) request_id: String,
    pub(crate) error_text: Option<String>,
    pub(crate) timestamp: f64,
    pub(crate) encoded_data_length: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ConsoleCalled {
    pub(crate) r#type: String,
    #[serde(default)]
    pub(crate) args: Vec<super::commands::Remote>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thrown {
    pub(crate) exception_details: super::commands::Exception,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LogAdded {
    pub(crate) entry: LogEntry,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LogEntry {
    pub(crate) level: String,
    pub(crate) text: String,
    pub(crate) url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DialogOpening {
    pub(crate) url: String,
    pub(crate) message: String,
    pub(crate) r#type: String,
    pub(crate) default_prompt: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DownloadBegins {
    pub(crate) guid: String,
    pub(crate) frame_id: String,
    pub(crate) url: String,
    pub(crate) suggested_filename: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DownloadProgress {
    pub(crate) guid: String,
    pub(crate) received_bytes: f64,
    pub(crate) state: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestPaused {
    pub(crate) request_id: String,
    pub(crate) request: Request,
    pub(crate) frame_id: String,
    pub(crate) resource_type: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct DialogClosed {
    pub(crate) result: bool,
}

/// A world of scripts began in a frame.
#[derive(Debug, Deserialize)]
pub(crate) struct WorldBegan {
    pub(crate) context: WorldOf,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorldOf {
    pub(crate) id: i64,
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) aux_data: WorldKind,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorldKind {
    #[serde(default)]
    pub(crate) r#type: String,
    #[serde(default)]
    pub(crate) frame_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorldEnded {
    pub(crate) execution_context_id: i64,
}

/// Something that pages store became different.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StorageChanged {
    pub(crate) storage_id: StorageId,
    pub(crate) key: Option<String>,
    pub(crate) new_value: Option<String>,
}

/// Whose storage it is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StorageId {
    pub(crate) security_origin: Option<String>,
    pub(crate) storage_key: Option<String>,
    pub(crate) is_local_storage: bool,
}
