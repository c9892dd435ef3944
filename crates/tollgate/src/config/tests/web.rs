//! What is set for the web is what its provider is told.

use std::time::Duration;

use tollgate_providers::web::BackendKind;

use super::*;

#[test]
fn an_engine_is_told_where_it_is_and_how_long_it_rests() {
    let mut home = Home::new();
    home.set("BRAVE_KEY", "a-key").user(
        "[web]\nsearch = [\"searxng\", \"ddg_html\", \"brave\", \"serper\", \"stub\"]\n\
         searxng_url = \"http://127.0.0.1:8888\"\nsearxng_pause_ms = 11\nddg_pause_ms = 22\n\
         brave_pause_ms = 33\nbrave_key = \"env:BRAVE_KEY\"\nserper_pause_ms = 0",
    );
    let config = home.load().unwrap();
    let settings = config.web.settings(&config.browser, &home.environment);
    let told: Vec<_> = settings
        .backends
        .iter()
        .map(|backend| {
            let key = backend.key.as_ref().and_then(|read| read());
            let base = backend.base_url.as_deref();
            (backend.kind, base, key, backend.pause)
        })
        .collect();
    let pause = Duration::from_millis;
    let key = Some("a-key".to_owned());
    let searxng = Some("http://127.0.0.1:8888");
    assert_eq!(
        told,
        [
            (BackendKind::Searxng, searxng, None, pause(11)),
            (BackendKind::DdgHtml, None, None, pause(22)),
            (BackendKind::Brave, None, key, pause(33)),
            (BackendKind::Serper, None, None, pause(0)),
            (BackendKind::Stub, None, None, pause(0)),
        ]
    );
}

#[test]
fn an_engine_nobody_set_a_pause_for_rests_as_usual() {
    let home = Home::new();
    home.user("[web]\nsearch = [\"brave\", \"ddg_html\"]");
    let config = home.load().unwrap();
    let settings = config.web.settings(&config.browser, &home.environment);
    for backend in &settings.backends {
        let usual = tollgate_providers::web::Backend::new(backend.kind).pause;
        assert_eq!(backend.pause, usual);
        assert_ne!(usual, Duration::ZERO);
    }
}

#[test]
fn limits_hosts_and_manners_are_handed_on() {
    let home = Home::new();
    home.user(
        "[web]\nallow_hosts = [\"wiki.local:8080\"]\nports = [8443]\nrobots = false\n\
         page_bytes = 4096\ntimeout_seconds = 3\nhost_requests = 7\nhost_pause_ms = 5\ncache_bytes = 9000",
    );
    let config = home.load().unwrap();
    let settings = config.web.settings(&config.browser, &home.environment);
    assert_eq!(settings.guard.allow_hosts, ["wiki.local:8080"]);
    assert_eq!(settings.guard.ports, [8443]);
    assert!(!settings.robots);
    let limits = settings.limits;
    let three = Duration::from_secs(3);
    assert_eq!((limits.bytes, limits.total), (4096, three));
    assert!(limits.first_byte <= three);
    let manners = settings.politeness;
    let pause = Duration::from_millis(5);
    assert_eq!((manners.at_once, manners.pause), (7, pause));
    assert_eq!(settings.cache_bytes, 9000);
}

/// The engines that are asked, and what was said of those that are not known.
fn engines(home: &Home) -> (Vec<BackendKind>, Vec<String>) {
    let config = home.load().unwrap();
    let kinds = config.web.search.iter().map(|engine| engine.kind);
    let notices = config.notices.iter().map(|notice| notice.message.clone());
    (kinds.collect(), notices.collect())
}

#[test]
fn the_variable_goes_before_the_file() {
    let mut home = Home::new();
    home.user("[web]\nsearch = [\"ddg_html\"]");
    home.set("WEB_SEARCH_BACKEND", "searxng");
    assert_eq!(engines(&home).0, [BackendKind::Searxng]);
    home.set("WEB_SEARCH_BACKEND", "brave, stub");
    assert_eq!(engines(&home).0, [BackendKind::Brave, BackendKind::Stub]);
    home.set("WEB_SEARCH_BACKEND", " ");
    assert_eq!(engines(&home).0, [BackendKind::DdgHtml]);
}

#[test]
fn an_unknown_engine_is_passed_over_with_a_notice() {
    let home = Home::new();
    home.user("[web]\nsearch = [\"altavista\"]");
    let (kinds, notices) = engines(&home);
    assert_eq!(kinds, [BackendKind::Stub]);
    assert!(
        notices.iter().any(|notice| notice.contains("`altavista`")),
        "{notices:?}"
    );
    home.user("[web]\nsearch = [\"altavista\", \"brave\"]");
    assert_eq!(engines(&home).0, [BackendKind::Brave]);
}

#[test]
fn hosts_that_can_never_match_are_told() {
    let home = Home::new();
    home.user(
        "[web]\nallow_hosts = [\"wiki.local:8080\", \"*.local\"]\n\
         [browser]\nonly_hosts = [\"*.example.com\", \"10.0.0.0/8\"]\n\
         deny_hosts = [\"https://bad.example\", \"bad.example:80\", \"bad.example\"]",
    );
    insta::assert_snapshot!(home.errors(), @"
    ~/.config/tollgate/tollgate.toml:2: web.allow_hosts: `*.local` matches no host: `*` stands for nothing there (write `host` or `host:port`, such as `localhost:3000` or `[::1]:3000`)
    ~/.config/tollgate/tollgate.toml:4: browser.only_hosts: `10.0.0.0/8` matches no host: paths and ranges of addresses are not understood (write `host`, an address, or `*.example.com` for every host below it)
    ~/.config/tollgate/tollgate.toml:5: browser.deny_hosts: `https://bad.example` matches no host: a scheme is no part of a host (write `host`, an address, or `*.example.com` for every host below it)
    ~/.config/tollgate/tollgate.toml:5: browser.deny_hosts: `bad.example:80` matches no host: a port is no part of a host, and every port is meant (write `host`, an address, or `*.example.com` for every host below it)
    ");
}
