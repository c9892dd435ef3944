//! How Chromium is started.
//!
//! Everything it does for its maker or by itself is off. It can reach nothing but our proxies:
//! its own resolver knows no name, and what is not proxied over UDP is not sent at all.

use std::path::Path;

const ALWAYS: &[&str] = &[
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-pings",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    // Tabs in the background are as quick as the one in front.
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--disable-ipc-flooding-protection",
    "--disable-renderer-backgrounding",
    // Containers have little shared memory.
    "--disable-dev-shm-usage",
    // `RenderDocument` makes a new frame for every page of a site, at a quarter of its whole cost.
    "--disable-features=RenderDocument,Translate,PaintHolding,BackForwardCache,MediaRouter,OptimizationHints,\
     DialMediaRouteProvider,InterestFeedContentSuggestions,AutofillServerCommunication,\
     CertificateTransparencyComponentUpdater,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,\
     GlobalMediaControls,LensOverlay,PreconnectToSearch,Prerender2,NetworkTimeServiceQuerying",
    // Pictures of tabs that are not in front.
    "--enable-features=CDPScreenshotNewSurface",
    // The boundary: pages go through the proxy of their context, nothing goes anywhere else.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
];

/// The file that Chromium reads its own settings from, and what it finds there. It knows no way of
/// logging in by itself: where a server asks for one, the page that came with it is shown, and not
/// a question that nobody would see.
pub(super) const LOCAL_STATE: (&str, &str) = ("Local State", r#"{"auth":{"schemes":""}}"#);

/// The arguments for one browser.
pub(super) fn flags(folder: &Path, is_headless: bool, script_megabytes: u64) -> Vec<String> {
    let mut flags: Vec<String> = ALWAYS.iter().map(|flag| (*flag).to_owned()).collect();
    flags.push(format!("--user-data-dir={}", folder.display()));
    // A page that wants more ends, and nothing else does.
    flags.push(format!(
        "--js-flags=--max-old-space-size={script_megabytes}"
    ));
    if is_headless {
        flags.push("--headless=new".to_owned());
        flags.push("--hide-scrollbars".to_owned());
        flags.push("--disable-gpu".to_owned());
        flags.push("--window-size=1280,800".to_owned());
    }
    // Chromium's own sandbox refuses to work for root, and so would Chromium.
    if rustix::process::geteuid().is_root() {
        flags.push("--no-sandbox".to_owned());
    }
    flags
}
