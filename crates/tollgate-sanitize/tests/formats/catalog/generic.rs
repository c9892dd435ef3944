//! Secrets that are told by what stands beside them.

use crate::{Format, format};

pub(crate) const FORMATS: &[Format] = &[
    format(
        "authorization",
        "Authorization: Bearer {b62:20-60}",
        &[
            "Bearer {words:2}",
            "bearer of bad news",
            "Authorization: Bearer <token>",
        ],
    ),
    format(
        "authorization",
        "Bearer {hex:32}",
        &["Bearer authentication is required"],
    ),
    format("authorization", "Bearer {b64u:24}.{b64u:24}", &[]),
    format(
        "basic-auth",
        "Authorization: Basic {YW5uOmxhbXBsaWdodDEy,Ym9iOmdyZWVuLXJpdmVyOQ==,c3ZjOlA0c3N3MHJkIXg=,ZGVwbG95OjdIaWxscyZEYWxlcw==}",
        &["Basic authentication", "Basic {words:2}"],
    ),
    format(
        "named-secret",
        "API_KEY={b62:24}",
        &[
            "API_KEY=${API_KEY}",
            "api_key_id = {words:1}",
            "cache_key={hex:24}",
        ],
    ),
    format(
        "named-secret",
        "export DB_PASSWORD='{b62:10}7!'",
        &["DB_PASSWORD=$DB_PASSWORD", "password_field = {words:1}"],
    ),
    format(
        "named-secret",
        "client_secret: \"{b64u:32}\"",
        &["client_secret: <secret>", "secret_name: {words:1}"],
    ),
    format(
        "named-secret",
        "<password>{b62:12}9</password>",
        &["<password>***</password>"],
    ),
    format(
        "named-secret",
        "auth_token = \"{hex:40}\"",
        &["next_page_token = {b62:20}", "max_tokens = {digit:4}"],
    ),
    format(
        "named-secret",
        "aws_secret_access_key = {b64:40}",
        &["aws_secret_access_key = os.environ['X']"],
    ),
];
