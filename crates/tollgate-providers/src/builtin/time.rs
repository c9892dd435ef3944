//! `time.now`: the clock, asked anew every time.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{CallContext, Clock, ProviderError, Timestamp, Tool, ToolSet};

use super::Shared;

pub(super) fn add(tools: ToolSet<Shared>) -> ToolSet<Shared> {
    tools.tool(
        Tool::read(
            "time.now",
            "Tell the time",
            "Tells the current date and time in UTC, and at an offset from it if you give one. \
             Use it instead of guessing the date. Always succeeds. Success: the time.",
        )
        .sets(&["gate"]),
        now,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NowArgs {
    /// Minutes east of UTC, such as 480 for China.
    #[serde(default)]
    #[schemars(range(min = -900, max = 900))]
    offset_minutes: i64,
}

#[derive(Serialize, JsonSchema)]
struct Now {
    /// RFC 3339, UTC.
    #[schemars(extend("x-volatile" = true))]
    utc: String,
    /// RFC 3339 at the offset.
    #[schemars(extend("x-volatile" = true))]
    local: String,
    #[schemars(extend("x-volatile" = true))]
    unix_ms: i64,
    #[schemars(extend("x-volatile" = true))]
    weekday: &'static str,
}

const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];

async fn now(shared: Arc<Shared>, args: NowArgs, _: CallContext) -> Result<Now, ProviderError> {
    let at = shared.clock.now();
    let local = Timestamp(at.0 + args.offset_minutes * 60_000);
    let day = usize::try_from(local.0.div_euclid(86_400_000).rem_euclid(7)).unwrap_or(0);
    let offset = args.offset_minutes.unsigned_abs();
    let sign = if args.offset_minutes < 0 { '-' } else { '+' };
    Ok(Now {
        utc: at.to_string(),
        local: format!(
            "{}{sign}{:02}:{:02}",
            local.to_string().trim_end_matches('Z'),
            offset / 60,
            offset % 60
        ),
        unix_ms: at.0,
        weekday: DAYS[day],
    })
}
