//! Payment, mail, shops, observability and work tools.

use crate::{Format, format};

pub(crate) const FORMATS: &[Format] = &[
    format(
        "stripe-key",
        "{sk,rk}_{live,test}_{b62:24}",
        &["sk_test_{words:2}", "rk_live_{words:1}"],
    ),
    format("stripe-key", "{sk,rk}_live_51{b62:97}", &[]),
    format("stripe-key", "whsec_{b62:32}", &["whsec_{words:1}"]),
    format(
        "twilio-key",
        "SK{hex:32}",
        &["SK{hex:12}", "SKU {digit:12}", "SK{HEX:32}x"],
    ),
    format(
        "mail-service-key",
        "SG.{b64u:22}.{b64u:43}",
        &["SG.{words:1}"],
    ),
    format(
        "mail-service-key",
        "key-{hex:32}",
        &["key-{words:2}", "key-{hex:8}"],
    ),
    format(
        "mail-service-key",
        "xkeysib-{hex:64}-{b62:16}",
        &["xkeysib-{words:1}"],
    ),
    format(
        "mailchimp-key",
        "{hex:32}-us{digit:1-2}",
        &["{words:1}-us1", "{hex:12}-us2"],
    ),
    format("mail-service-key", "re_{b62:8}_{b62:24}", &["re_{words:4}"]),
    format(
        "shop-token",
        "{shpat,shpca,shppa,shpss}_{hex:32}",
        &["shpat_{words:2}"],
    ),
    format("shop-token", "sq0atp-{b64u:22}", &["sq0atp-{words:1}"]),
    format("shop-token", "EAAA{b64u:60}", &["EAAA{b62:6}"]),
    format("shop-token", "shippo_live_{hex:40}", &["shippo_{words:2}"]),
    format("facebook-token", "EAA{b62:120}", &["EAA {words:3}"]),
    format("observability-token", "glc_{b64:80}", &["glc_{words:2}"]),
    format(
        "observability-token",
        "glsa_{b62:32}_{hex:8}",
        &["glsa_{words:2}"],
    ),
    format("observability-token", "NRAK-{B36:27}", &["NRAK-{upper:3}"]),
    format(
        "observability-token",
        "sntrys_{b64:100}",
        &["sntrys_{words:2}"],
    ),
    format(
        "observability-token",
        "dt0c01.{B36:24}.{B36:64}",
        &["dt0c01.{words:1}"],
    ),
    format("observability-token", "sqp_{hex:40}", &["sqp_{words:2}"]),
    format("observability-token", "phc_{b62:43}", &["phc_{words:2}"]),
    format("work-tool-token", "figd_{b64u:40}", &["figd_{words:2}"]),
    format(
        "work-tool-token",
        "ntn_{digit:11}{b62:35}",
        &["ntn_{words:3}"],
    ),
    format("work-tool-token", "ATATT3{b64u:180}={HEX:8}", &["ATATT3"]),
    format(
        "work-tool-token",
        "pat-na1-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &["pat-na1-{words:1}"],
    ),
    format("work-tool-token", "CFPAT-{b64u:43}", &["CFPAT-{words:1}"]),
    format(
        "work-tool-token",
        "PMAK-{hex:24}-{hex:34}",
        &["PMAK-{words:1}"],
    ),
    format(
        "work-tool-token",
        "AGE-SECRET-KEY-1{bech32:58}",
        &["AGE-SECRET-KEY-1"],
    ),
    format(
        "environment-token",
        "secret_{b62:43}",
        &["secret_{words:3}"],
    ),
    format(
        "environment-token",
        "pat{b62:14}.{hex:64}",
        &["path.{hex:12}", "pattern.{words:1}"],
    ),
    format(
        "environment-token",
        "live_{b62:40}",
        &["live_{words:6}", "test_{words:7}"],
    ),
    format(
        "named-vendor-value",
        "DATADOG_API: {hex:32}",
        &["datadog {words:3}", "okta-{words:2}"],
    ),
    format(
        "signed-url-parameter",
        "x-bce-security-token={b62:40}",
        &["x-bce-date=${date}"],
    ),
    format(
        "url-parameter",
        "https://files.example/a?x=1&sig={b62:40}%3D",
        &[
            "https://files.example/a?design={b62:20}",
            "https://files.example/a?sig=***",
        ],
    ),
    format(
        "shared-access-signature",
        "SharedAccessSignature=sv=2024-11-04&ss=b&sig={b62:43}%3D",
        &["SharedAccessSignature={words:1}"],
    ),
    format(
        "shared-access-signature",
        "sig={b62:43}%3D&se=2031-01-01",
        &["sig={words:1}", "config={b62:20}", "sig=none"],
    ),
    format(
        "shared-access-signature",
        "q-sign-algorithm=sha1&q-ak=AKID{b62:32}&q-signature={hex:40}",
        &["q-ak={words:1}"],
    ),
    format("shared-access-signature", "q-ak={b62:36}", &[]),
    format(
        "url-password",
        "postgres://app:{b62:14}@db.example:5432/main",
        &[
            "postgres://app:$PASSWORD@db.example/main",
            "https://db.example:5432/a@b",
        ],
    ),
    format(
        "url-password",
        "https://ann:{b62:20}@git.example/a.git",
        &[],
    ),
];
