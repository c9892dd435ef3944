//! Cloud platforms, infrastructure and model services.

use crate::{Format, format};

pub(crate) const FORMATS: &[Format] = &[
    format(
        "aws-access-key",
        "{AKIA,ASIA,ABIA,ACCA,AROA,AIDA}{b32:16}",
        &[
            "AKIA{words:3}",
            "akia{lower:16}",
            "ASIA{upper:4}",
            "AKIA_{WORDS:2}",
        ],
    ),
    format("aws-bedrock-key", "ABSK{b64:128}=", &["ABSK{words:2}"]),
    format(
        "aws-bedrock-key",
        "bedrock-api-key-{b64:80-120}",
        &["bedrock-api-key-id"],
    ),
    format(
        "google-api-key",
        "AIza{b64u:35}",
        &["AIza{b62:10}", "AIza {words:4}"],
    ),
    format(
        "google-api-key",
        "AQ.{b64u:50}",
        &["FAQ. {words:5}", "see the FAQ.{words:1}", "AQ.1"],
    ),
    format(
        "google-oauth-secret",
        "GOCSPX-{b64u:28}",
        &["GOCSPX-{upper:5}"],
    ),
    format(
        "google-oauth-secret",
        "ya29.{b64u:120}",
        &["ya29.{words:1}"],
    ),
    format(
        "google-oauth-secret",
        "1//0{b64u:60}",
        &["1//0", "11//02/2031"],
    ),
    format(
        "azure-key",
        "DefaultEndpointsProtocol=https;AccountName=store{digit:3};AccountKey={b64:86}==;EndpointSuffix=core.example",
        &["AccountKey={words:2}", "SharedAccessKey=${KEY}"],
    ),
    format(
        "azure-key",
        "Endpoint=sb://bus.example/;SharedAccessKeyName=root;SharedAccessKey={b64:43}=",
        &[],
    ),
    format("azure-marked-key", "{b64:76}+ASt{b64:6}==", &[]),
    format("azure-marked-key", "{b64:33}+ASb{b64:6}=", &[]),
    format(
        "azure-marked-key",
        "{b62:42}AzSe{b62:6}",
        &["AzSe{words:1}"],
    ),
    format(
        "azure-service-key",
        "{b62:52}JQQJ99{b62:26}",
        &["JQQJ99{b62:26}"],
    ),
    format(
        "azure-client-secret",
        "{b62:3}8Q~{b62:34}",
        &["7q~{words:1}"],
    ),
    format(
        "azure-devops-token",
        "{b62:76}AZDO{b62:4}",
        &["AZDO_{WORDS:2}"],
    ),
    format(
        "telegram-token",
        "{digit:9-10}:AA{b64u:33}",
        &["12:AA{words:1}", "00:AA:{HEX:2}:{HEX:2}"],
    ),
    format(
        "cloud-platform-token",
        "dop_v1_{hex:64}",
        &["dop_v1_{words:3}"],
    ),
    format("cloud-platform-token", "doo_v1_{hex:64}", &[]),
    format(
        "cloud-platform-token",
        "dp.pt.{b62:43}",
        &["dp.pt.{words:1}"],
    ),
    format("cloud-platform-token", "dp.st.prd.{b62:43}", &[]),
    format("cloud-platform-token", "hvs.{b64u:90}", &["hvs.{words:1}"]),
    format("cloud-platform-token", "hvb.{b64u:138}", &[]),
    format(
        "cloud-platform-token",
        "tskey-auth-{b62:16}-{b62:32}",
        &["tskey-{words:1}"],
    ),
    format("cloud-platform-token", "fm2_{b64:100}", &["fm2_{words:2}"]),
    format(
        "cloud-platform-token",
        "dapi{hex:32}",
        &["dapi{words:2}", "dapi{hex:10}"],
    ),
    format(
        "cloud-platform-token",
        "pscale_tkn_{b64u:43}",
        &["pscale_{words:2}"],
    ),
    format("cloud-platform-token", "LTAI{b62:20}", &["LTAI {words:2}"]),
    format("cloud-platform-token", "AKID{b62:32}", &["AKID{words:2}"]),
    format("cloud-platform-token", "sbp_{hex:40}", &["sbp_{words:2}"]),
    format(
        "cloud-platform-token",
        "sb_secret_{b64u:31}",
        &["sb_{words:2}"],
    ),
    format("cloud-platform-token", "rnd_{b62:32}", &["rnd_{words:3}"]),
    format(
        "cloud-platform-token",
        "mdb_sa_sk_{b64u:44}",
        &["mdb_{words:2}"],
    ),
    format(
        "cloud-platform-token",
        "lin_api_{b62:40}",
        &["lin_{words:2}"],
    ),
    format(
        "terraform-token",
        "{b62:14}.atlasv1.{b64u:67}",
        &["{words:1}.atlasv1.{words:1}"],
    ),
    format("cloud-platform-token", "nfp_{b62:36}", &["nfp_{words:3}"]),
    format(
        "cloud-platform-token",
        "HRKU-AA{b64u:58}",
        &["HRKU-{words:1}"],
    ),
    format(
        "cloud-platform-token",
        "HRKU-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &[],
    ),
    format(
        "cloud-platform-token",
        "{cfut,cfat}_{b62:40}",
        &["cfut_{words:2}", "cfat_"],
    ),
    format("model-host-key", "gsk_{b62:52}", &["gsk_{words:3}"]),
    format("model-host-key", "xai-{b62:80}", &["xai-{words:2}"]),
    format("model-host-key", "r8_{b62:37}", &["r8_{words:2}"]),
    format("model-host-key", "nvapi-{b64u:64}", &["nvapi-{words:2}"]),
    format("model-host-key", "pplx-{b62:48}", &["pplx-{words:2}"]),
    format("model-host-key", "fw_{b62:24}", &["fw_{words:3}"]),
    format("model-host-key", "tgp_v1_{b64u:43}", &["tgp_v1_{words:2}"]),
    format("model-host-key", "hf_{alpha:34}", &["hf_{words:4}"]),
    format(
        "model-host-key",
        "lsv2_pt_{hex:32}_{hex:10}",
        &["lsv2_{words:2}"],
    ),
    format("model-host-key", "tvly-{b62:32}", &["tvly-{words:1}"]),
    format(
        "model-host-key",
        "fc-{hex:32}",
        &["fc-{words:2}", "fc-{hex:8}"],
    ),
    format(
        "model-host-key",
        "jina_{hex:32}{b64u:28}",
        &["jina_{words:2}"],
    ),
    format(
        "openai-key",
        "sk-proj-{b64u:74}T3BlbkFJ{b64u:74}",
        &["sk-{words:2}", "sk-proj-{words:1}"],
    ),
    format(
        "openai-key",
        "sk-{b62:48}",
        &["sk-SK.UTF-8", "sk-learn-{words:1}"],
    ),
    format("openai-key", "sk-svcacct-{b64u:64}", &[]),
    format(
        "anthropic-key",
        "sk-ant-api03-{b64u:93}AA",
        &["sk-ant-{words:1}"],
    ),
    format(
        "prefixed-key",
        "sk_{b62:24-48}",
        &["sk_{words:4}", "sk_buff_{words:3}"],
    ),
    format("prefixed-key", "pk_{b62:24-40}", &["pk_{words:4}"]),
    format("prefixed-key", "rk_{b62:32}", &["rk_{words:3}"]),
    format("prefixed-key", "pk_live_{b62:24}", &["pk_live_{words:2}"]),
];
