//! Whether a call is better made in the background, by its provider's account.

use tollgate_core::{CallId, Deferral, ToolCall};

use super::{Caller, Gateway, Request, admit, dialog};

impl Gateway {
    /// Whether a call is better made in the background. A tool that this caller cannot see
    /// is none that takes its time, and what is only asked about takes none.
    pub fn deferral(&self, caller: &Caller, request: &Request) -> Deferral {
        if request.control.dry_run || request.control.from_cache.is_on() {
            return Deferral::Never;
        }
        let catalog = self.catalog();
        let Some((listing, arguments)) = dialog::meant(&catalog, request) else {
            return Deferral::Never;
        };
        let name = listing.spec.name.as_str();
        if admit::find(&self.0, &catalog, caller, name).is_err() {
            return Deferral::Never;
        }
        let call = ToolCall {
            id: CallId("".into()),
            tool: listing.spec.name.clone(),
            arguments,
        };
        listing
            .provider
            .deferral(&call, request.responses.is_some())
    }
}
