//! The closed list of warnings a result can carry.

use serde::{Deserialize, Serialize};

macro_rules! warnings {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A stable reason why a result is less than it could be.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Warning {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Warning {
            /// Every warning there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The warning as it appears in results.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Reads a warning back from its text.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

warnings! {
    /// Personal data was replaced.
    PiiRedacted = "pii_redacted";
    /// A key, token or password was replaced.
    SecretsRedacted = "secrets_redacted";
    /// Terminal escapes, bidirectional or invisible characters were removed.
    InvisibleRemoved = "invisible_removed";
    /// The answer came from the session cache.
    UsedCache = "used_cache";
    /// Something was cut to fit a limit.
    TruncatedOutput = "truncated_output";
    /// It was ended before it was done, because it reached a limit.
    LimitReached = "limit_reached";
    /// The answer holds text that reads like instructions.
    TaintedContent = "tainted_content";
    /// An image was made smaller.
    CompressedImage = "compressed_image";
    /// The region of a diagram was not found; text was used instead.
    DiagramRoiNotFound = "diagram_roi_not_found";
    /// A preferred provider failed and another one answered.
    UsedFallback = "used_fallback";
    /// The call had already happened; its recorded ending is shown.
    RecordedEnding = "recorded_ending";
    /// Nothing was called; the verdict and the estimate are shown.
    DryRun = "dry_run";
    /// Some of the sources could not be read.
    SourcesFailed = "sources_failed";
    /// What was found rests on too little to be relied on.
    ThinEvidence = "thin_evidence";
    /// The browser or its process had ended; the page was loaded again at its address.
    PageReopened = "page_reopened";
    /// What a run came to is not what its template promises.
    ResultMisfit = "result_misfit";
    /// What was chosen leads to something that its author has not written.
    BrokenLink = "broken_link";
    /// The answer holds markup that would run or load something where it is rendered.
    ActiveContent = "active_content";
    /// The server that answered warns of something; its own words are in its answer.
    UpstreamWarning = "upstream_warning";
    /// The answer is a prepared sample, not live data.
    Fixture = "fixture";
}
