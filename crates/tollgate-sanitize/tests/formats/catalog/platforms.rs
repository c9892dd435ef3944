//! Vendors whose tokens begin unmistakably: delivery, hosting, payment and other applications;
//! cookies and keys that are told by the name they are set under.

use crate::{Format, format};

pub(crate) const FORMATS: &[Format] = &[
    format(
        "delivery-token",
        "pul-{hex:40}",
        &["pul-{words:2}", "pul-{hex:8}"],
    ),
    format(
        "delivery-token",
        "{CCIPAT,CCIPRJ}_{b62:22}_{hex:40}",
        &["CCIPAT_{WORDS:2}"],
    ),
    format(
        "delivery-token",
        "{bkua,bkaj,bkct}_{hex:40}",
        &["bkua_{words:3}"],
    ),
    format(
        "delivery-token",
        "AKCp{digit:1}{b62:68}",
        &["AKCp{words:1}", "AKCP_{WORDS:2}"],
    ),
    format("delivery-token", "cmVmdGtu{b62:56}", &["cmVmdGtu"]),
    format("word-like-token", "BBDC-{b64:44}", &["BBDC-{words:1}"]),
    format(
        "delivery-token",
        "ico-{b62:32}",
        &["ico-{words:2}", "ico-{words:5}"],
    ),
    format(
        "hosting-key",
        "API-{B36:28}",
        &["API-{WORDS:2}", "API-{upper:9}-{upper:9}"],
    ),
    format("word-like-token", "sha256~{b64u:43}", &["sha256~{words:1}"]),
    format(
        "delivery-token",
        "{pat,sat}.{b64u:22}.{hex:24}.{b62:20}",
        &["sat. {words:3}", "pat.{words:1}.{words:1}"],
    ),
    format(
        "word-like-token",
        "perm:{YW5u,Ym9iLmxlZQ==}.{Q0ktdG9rZW4=,VG9vbHM=}.{b62:30}",
        &["perm:{words:2}", "perm: read.write.execute"],
    ),
    format(
        "delivery-token",
        "packagist_{out,uut}_{hex:68}",
        &["packagist_{words:2}"],
    ),
    format("delivery-token", "gb_api_{b62:40}", &["gb_api_{words:3}"]),
    format(
        "delivery-token",
        "{nfc,nfo,nfu}_{b62:36}",
        &["nfc_{words:3}"],
    ),
    format("word-like-token", "sktsec_{b64u:40}", &["sktsec_{words:1}"]),
    format(
        "named-secret",
        "token-{b36:5}:{b36:54}",
        &["token-{lower:5}:{words:2}"],
    ),
    format("word-like-token", "tk-us-{b64u:48}", &["tk-us-{words:2}"]),
    format(
        "hosting-key",
        "SCW{B36:17}",
        &["SCW{upper:4}", "SCW_{WORDS:3}", "scw-{words:2}"],
    ),
    format(
        "hosting-key",
        "t1.9euelZ{b64u:150}.{b64u:86}",
        &["t1.{words:1}", "SELECT t1.id, t1.name FROM t1"],
    ),
    format("hosting-key", "AQVN{b64u:36}", &["AQVN{words:1}"]),
    format(
        "word-like-token",
        "{YCAJE,YCMiV,YCP_2,YCOs7}{b64u:35}",
        &["YCOMBINATOR", "yca_{words:2}"],
    ),
    format(
        "word-like-token",
        "y0_{b64u:58}",
        &["y0_{words:2}", "y0_{digit:1}"],
    ),
    format(
        "hosting-key",
        "EXO{hex:24}",
        &["EXO{upper:5}", "exo{words:3}"],
    ),
    format("hosting-key", "ucat_{B36:26}", &["ucat_{words:2}"]),
    format("word-like-token", "AKLT{b62:47}", &["AKLT{words:1}"]),
    format(
        "hosting-key",
        "bce-v3/ALTAK-{b62:21}/{hex:40}",
        &["bce-v3/{words:1}"],
    ),
    format("hosting-key", "ALTAK{b62:21}", &["ALTAK"]),
    format(
        "hosting-key",
        "K00{1,2,3,4,5}{b64:27}",
        &["K00{digit:3}", "K001"],
    ),
    format(
        "hosting-key",
        "napi_{b36:64}",
        &["napi_{words:3}", "napi_create_{words:4}"],
    ),
    format(
        "hosting-key",
        "AVNS_{b64u:19}",
        &["AVNS_{words:1}", "AVNS_{WORDS:3}"],
    ),
    format(
        "hosting-key",
        "CCDB1_{b62:22}_{b62:40}",
        &["CCDB1_{words:2}"],
    ),
    format("hosting-key", "cflt{b64:60}", &["cflt{words:2}"]),
    format("hosting-key", "essu_{b64:90}=", &["essu_{words:2}"]),
    format(
        "hosting-key",
        "vercel_blob_rw_{b62:16}_{b62:30}",
        &["vercel_blob_rw_{words:2}"],
    ),
    format(
        "hosting-key",
        "{vcp,vci,vca,vcr}_{b62:56}",
        &["vcp_{words:4}"],
    ),
    format(
        "word-like-token",
        "dnkey-{b32:26}-{b32:52}",
        &["dnkey-{words:1}"],
    ),
    format(
        "hosting-key",
        "apify_api_{b62:36}",
        &["apify_api_{words:3}"],
    ),
    format("hosting-key", "e2b_{hex:40}", &["e2b_{words:3}"]),
    format("hosting-key", "bb_live_{b64u:27}", &["bb_live_{words:3}"]),
    format(
        "hosting-key",
        "{sdk,api,mob}-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &[
            "sdk-{words:2}",
            "api-{hex:8}-{hex:4}",
            "mob-{words:1}-{hex:12}",
        ],
    ),
    format(
        "hosting-key",
        "{xaat,xapt}-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &["xaat-{words:1}"],
    ),
    format(
        "hosting-key",
        "{hcxik,hcxlk}_{b36:58}",
        &["hcxik_{words:2}"],
    ),
    format(
        "payment-key",
        "rzp_{live,test}_{b62:14}",
        &["rzp_live_{words:2}", "rzp_test_key"],
    ),
    format(
        "payment-key",
        "access_token$production${b36:16}${hex:32}",
        &["access_token$production${words:1}", "access_token$sandbox"],
    ),
    format(
        "payment-key",
        "A21AA{b64u:92}",
        &["A21AA", "A21AA-{words:2}"],
    ),
    format(
        "payment-key",
        "{FLWSECK_TEST,FLWSECK}-{hex:32}-X",
        &["FLWSECK-{words:1}"],
    ),
    format(
        "payment-key",
        "access-{sandbox,production,development}-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &["access-sandbox-{words:1}", "access-production-{digit:4}"],
    ),
    format(
        "payment-key",
        "pdl_{live,sdbx}_apikey_{b36:26}_{b62:22}_{b62:3}",
        &["pdl_live_apikey_{words:1}"],
    ),
    format(
        "payment-key",
        "polar_{pat,oat}_{b62:43}",
        &["polar_{words:3}"],
    ),
    format(
        "payment-key",
        "xnd_{production,development}_{b62:64}",
        &["xnd_{words:2}"],
    ),
    format(
        "payment-key",
        "{SB-Mid,Mid}-server-{b64u:24}",
        &["Mid-server-{words:1}"],
    ),
    format(
        "payment-key",
        "skey_{test,live}_{b36:19}",
        &["skey_{words:2}"],
    ),
    format(
        "payment-key",
        "APP_USR-{digit:16}-{digit:6}-{hex:32}-{digit:9}",
        &["APP_USR-{digit:4}", "APP_USR_{WORDS:2}"],
    ),
    format("payment-key", "alcht_{b62:30}", &["alcht_{words:3}"]),
    format(
        "payment-key",
        "amzn.mws.{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &["amzn.mws.{words:1}"],
    ),
    format(
        "payment-key",
        "amzn1.oa2-cs.v1.{hex:64}",
        &["amzn1.oa2-cs.{words:1}"],
    ),
    format("payment-key", "Atzr|{b64u:300}", &["Atzr|{words:1}"]),
    format(
        "app-token",
        "1/{1,12}{digit:14}:{hex:32}",
        &["1/12/2031:{hex:8}", "1/1{digit:3}"],
    ),
    format(
        "app-token",
        "2/1{digit:15}/1{digit:15}:{hex:32}",
        &["2/1{digit:2}/1{digit:3}:{digit:4}"],
    ),
    format(
        "app-token",
        "os_v2_{app,org}_{b36:104}",
        &["os_v2_app_{words:2}"],
    ),
    format(
        "app-token",
        "KEY01{HEX:32}_{b62:22}",
        &["KEY01{HEX:6}", "KEY01_{WORDS:2}"],
    ),
    format("app-token", "dG9rO{b62:54}=", &["dG9rO"]),
    format(
        "app-token",
        "ATTA{hex:64}{HEX:8}",
        &["ATTACH_{WORDS:2}", "attaches {words:3}", "ATTA{upper:9}"],
    ),
    format("app-token", "mlsn.{hex:64}", &["mlsn.{words:1}"]),
    format(
        "app-token",
        "1000.{hex:32}.{hex:32}",
        &["1000.{digit:2}", "1000.{hex:8}"],
    ),
    format("app-token", "IGQVJ{b64u:140}", &["IGQVJ{words:1}"]),
    format(
        "app-token",
        "AAAAAAAAAAAAAAAAAAAAA{b62:20}%2F{b62:60}",
        &[
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "AAAAAAAAAAAAAAAAAAAAA{words:1}",
        ],
    ),
    format("app-token", "lin_oauth_{hex:64}", &["lin_oauth_{words:2}"]),
    format("app-token", "pcsk_{b62:5}_{b62:63}", &["pcsk_{words:2}"]),
    format("app-token", "llx-{b62:48}", &["llx-{words:2}"]),
    format(
        "word-like-token",
        "pa-{b64u:43}",
        &["pa-{words:3}", "pa-{digit:4}"],
    ),
    format(
        "word-like-token",
        "BSA{b64u:27}",
        &["BSA{words:2}", "BSA-{WORDS:1}"],
    ),
    format(
        "app-token",
        "sm_{aat,pat,sat}_{b62:16}",
        &["sm_pat_{words:2}"],
    ),
    format(
        "app-token",
        "s-s4t2{ud,af}-{hex:64}",
        &["s-s4t2ud-{words:1}"],
    ),
    format(
        "app-token",
        "A3-{B36:6}-{B36:6}-{B36:5}-{B36:5}-{B36:5}-{B36:5}",
        &["A3-{B36:4}", "A3-{upper:6}-paper"],
    ),
    format(
        "app-token",
        "st.{hex:24}.{hex:32}.{hex:32}",
        &["st.{words:1}.{words:1}"],
    ),
    format(
        "app-token",
        "persona_{production,sandbox}_{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        &["persona_{words:2}"],
    ),
    format(
        "app-token",
        "WPL_AP1.{b62:16}.{b62:8}==",
        &["WPL_AP1.{words:1}"],
    ),
    format("app-token", "n8n_api_{b62:80}", &["n8n_api_{words:3}"]),
    format("app-token", "retool_{b36:26}", &["retool_{words:4}"]),
    format(
        "maxmind-key",
        "{b62:6}_{b62:29}_mmk",
        &["{words:3}_mmk", "_mmk"],
    ),
    format(
        "firebase-key",
        "AAAA{b64u:7}:APA91b{b64u:134}",
        &["AAAA:APA91b", "APA91b{words:1}"],
    ),
    format("azure-service-key", "{b62:44}JQQJ99{b62:34}", &[]),
    format(
        "azure-service-key",
        "{b62:56}JQQJ99{b62:22}",
        &["{words:3}JQQJ99{b62:8}"],
    ),
    format("gitlab-token", "glrtr-{b64u:20}", &["glrtr-{words:1}"]),
    format(
        "slack-token",
        "xwfp-{digit:12}-{b62:24}",
        &["xwfp-{words:1}"],
    ),
    format(
        "environment-token",
        "test_{b62:30}",
        &["test_{words:5}", "live_{lower:8}", "test_{hex:8}"],
    ),
    format("environment-token", "{live,test}_{hex:35}", &[]),
    format(
        "named-secret",
        "Cookie: session_id={b62:32}",
        &[
            "Cookie: session_id=none",
            "Cookie: consent_session={words:2}",
        ],
    ),
    format(
        "named-secret",
        "Cookie: lang=en; theme=dark; {PHPSESSID,JSESSIONID,connect.sid,sessionid,sid,_app_session,laravel_session,auth_token}={b36:32}; x=1",
        &["Cookie: lang=en; theme=dark; utm_source={words:3}"],
    ),
    format(
        "named-secret",
        "Set-Cookie: sid={b64u:40}; Path=/; HttpOnly",
        &[
            "Set-Cookie: sid=deleted; Path=/",
            "Set-Cookie: lang={words:1}; Path=/",
        ],
    ),
    format(
        "named-secret",
        "curl --cookie 'session={b62:28}' https://shop.example",
        &["curl --cookie jar.txt https://shop.example"],
    ),
    format(
        "wordpress-key",
        "define('AUTH_KEY',         '{b64:30}|}^$&{b64:30}');",
        &[
            "define('AUTH_KEY', 'put your unique phrase here');",
            "define('AUTH_KEY', getenv('AUTH_KEY'));",
        ],
    ),
    format(
        "wordpress-key",
        "define( 'LOGGED_IN_SALT', '{b64:20}; k(!{b64:36}' );",
        &["define('NONCE_SALT', '');"],
    ),
    format(
        "wordpress-key",
        "SECURE_AUTH_SALT='{b64:64}'",
        &["SECURE_AUTH_SALT='generateme'"],
    ),
    format(
        "named-secret",
        "登录密码：{b62:12}#{digit:2}",
        &["登录密码：请输入", "修改登录密码：成功"],
    ),
    format(
        "named-secret",
        "数据库密码为{b62:12}#{digit:2}",
        &["密码为空"],
    ),
    format(
        "named-secret",
        "пароль: {b62:12}#{digit:2}",
        &["пароль: неверный"],
    ),
    format(
        "named-secret",
        "Senha: {b62:12}#{digit:2}",
        &["senha: obrigatória"],
    ),
    format(
        "named-secret",
        "パスワード：{b62:12}#{digit:2}",
        &["パスワード：必須"],
    ),
    format(
        "named-secret",
        "mot de passe : {b62:12}#{digit:2}",
        &["mot de passe : requis"],
    ),
    format(
        "delivery-token",
        "kubeconfig-user-{b36:5}:{b36:54}",
        &["kubeconfig-user-{words:1}"],
    ),
    format(
        "named-secret",
        "<add key=\"DbPassword\" value=\"{b62:14}9\" />",
        &["<add key=\"Theme\" value=\"{b62:14}\" />"],
    ),
    format(
        "named-secret",
        "- name: API_TOKEN\n  value: {b62:28}\n",
        &["- name: API_TOKEN\n  valueFrom:\n    secretKeyRef: {words:2}\n"],
    ),
];
