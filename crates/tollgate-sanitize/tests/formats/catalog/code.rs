//! Code hosts, package registries and what developers' tools use.

use crate::{Format, format};

pub(crate) const FORMATS: &[Format] = &[
    format(
        "github-token",
        "{ghp,gho,ghu,ghs,ghr}_{b62:36}",
        &["ghp_{words:3}", "gho_{b62:8}"],
    ),
    format(
        "github-token",
        "github_pat_{b62:22}_{b62:59}",
        &["github_pat_{words:2}"],
    ),
    format("gitlab-token", "glpat-{b64u:20}", &["glpat-{words:1}"]),
    format("gitlab-token", "glpat-{b64u:27}.{b36:2}.{b36:9}", &[]),
    format(
        "gitlab-token",
        "{gldt,glrt,glptt,glft,glsoat,glcbt,glimt,glagent}-{b64u:20}",
        &["gldt-{words:1}"],
    ),
    format("gitlab-token", "GR1348941{b64u:20}", &["GR1348941"]),
    format(
        "package-registry-token",
        "npm_{b62:36}",
        &[
            "npm_config_{words:2}",
            "npm_{words:3}",
            "npm_package_{words:4}",
        ],
    ),
    format(
        "package-registry-token",
        "pypi-AgEIcHlwaS5vcmc{b64u:140}",
        &["pypi-{words:2}"],
    ),
    format(
        "package-registry-token",
        "rubygems_{hex:48}",
        &["rubygems_{words:2}"],
    ),
    format("package-registry-token", "oy2{b36:43}", &["oy2{words:1}"]),
    format(
        "package-registry-token",
        "cio{b62:32}",
        &["cio {words:4}", "cio_{words:3}"],
    ),
    format(
        "docker-token",
        "{dckr_pat,dckr_oat}_{b64u:27}",
        &["dckr_pat_{words:1}"],
    ),
    format(
        "package-registry-token",
        "CLOJARS_{hex:60}",
        &["CLOJARS_{WORDS:2}"],
    ),
    format(
        "slack-token",
        "xoxb-{digit:12}-{digit:13}-{b62:24}",
        &["xoxb-", "xoxo-hugs"],
    ),
    format(
        "slack-token",
        "xoxp-{digit:12}-{digit:12}-{digit:13}-{hex:32}",
        &[],
    ),
    format(
        "slack-token",
        "xapp-1-A{B36:10}-{digit:13}-{hex:64}",
        &["xapp-{words:1}"],
    ),
    format("slack-token", "xoxe.xoxp-1-{b62:146}", &[]),
    format(
        "slack-webhook",
        "https://hooks.slack.com/services/T{B36:10}/B{B36:10}/{b62:24}",
        &["https://hooks.slack.com/"],
    ),
    format(
        "webhook-url",
        "https://discord.com/api/webhooks/{digit:18}/{b64u:68}",
        &[
            "/api/webhooks/{words:2}",
            "https://shop.example/webhook/{words:2}",
        ],
    ),
    format(
        "webhook-url",
        "https://hooks.zapier.com/hooks/catch/{digit:7}/{b36:7}/",
        &[],
    ),
    format(
        "webhook-url",
        "https://open.feishu.cn/open-apis/bot/v2/hook/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &[],
    ),
    format(
        "webhook-url",
        "https://oapi.dingtalk.com/robot/send?access_token={hex:64}",
        &[],
    ),
    format(
        "webhook-url",
        "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &[],
    ),
    format(
        "webhook-url",
        "https://acme.webhook.office.com/webhookb2/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}/IncomingWebhook/{hex:32}/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &[],
    ),
    format(
        "webhook-path",
        "https://ops.example/webhook/{b62:32}",
        &["https://ops.example/webhook/{words:3}"],
    ),
    format(
        "webhook-path",
        "https://ops.example/api/webhooks/{digit:18}/{b64u:40}",
        &["/api/webhooks/{words:1}/{words:1}"],
    ),
    format(
        "discord-token",
        "M{T,j,z}{A,E,I,M,Q,U,Y,c,g,k}{b62:21}.{b64u:6}.{b64u:27-38}",
        &[
            "{words:1}.{words:1}.{words:1}",
            "{hex:24}.{lower:6}.{lower:8}",
            "com.example.{words:1}",
        ],
    ),
    format(
        "jwt",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{b64u:40}.{b64u:43}",
        &["eyJhbGciOiJIUzI1NiJ9", "eyJ.{words:1}"],
    ),
    format(
        "private-key",
        "-----BEGIN RSA PRIVATE KEY-----\n{b64:64}\n{b64:64}\n{b64:40}==\n-----END RSA PRIVATE KEY-----",
        &[
            "-----BEGIN PUBLIC KEY-----\n{b64:64}\n-----END PUBLIC KEY-----",
            "-----BEGIN CERTIFICATE-----\n{b64:64}\n-----END CERTIFICATE-----",
        ],
    ),
    format(
        "private-key",
        "-----BEGIN OPENSSH PRIVATE KEY-----\\n{b64:70}\\n{b64:70}\\n-----END OPENSSH PRIVATE KEY-----",
        &[],
    ),
    format(
        "putty-private-key",
        "Private-Lines: 8\n{b64:64}\n{b64:64}\n",
        &["Public-Lines: 4\n{b64:64}"],
    ),
    format(
        "mapbox-token",
        "{sk,tk,pk}.eyJ{b62:60}.{b64u:22}",
        &["pk.example"],
    ),
    format(
        "device-url-token",
        "https://things.example/api/v1/{b36:20}/telemetry",
        &[
            "https://things.example/api/v1/{lower:5}/telemetry",
            "/api/v1/{words:2}/attributes",
        ],
    ),
    format(
        "password-hash",
        "$2b$12${b62:53}",
        &["$2b$12$short", "costs $2 and $5"],
    ),
    format(
        "password-hash",
        "$argon2id$v=19$m=65536,t=3,p=4${b64:22}${b64:43}",
        &["$argon2id"],
    ),
    format("password-hash", "$6${b62:16}${b62:86}", &["$6$ for two"]),
    format(
        "netrc-password",
        "machine host{digit:2}.example login ann password {b62:14}",
        &["machine learning login password prompt"],
    ),
    format(
        "netrc-password",
        "machine host.example\n  login ann\n  password {b62:12}\n",
        &[],
    ),
    format(
        "command-line-password",
        "curl -u ann:{b62:14} https://api.example/v1/x",
        &[
            "curl -u $USER:$PASS https://api.example",
            "curl https://api.example/v1/{words:1}",
        ],
    ),
    format(
        "multi-line-user",
        "  -u ann:{b62:20}",
        &["  -u ann:{words:3}"],
    ),
    format(
        "login-command-password",
        "docker login -u ann -p {b62:14} registry.example",
        &["docker login registry.example", "mysql -p"],
    ),
];
