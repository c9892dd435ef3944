//! What the browser keeps: logins under a name, and pages of a stored session.

use std::{
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    thread,
};

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv};

/// What ada is known by; it is shown to nobody but her sites.
const COOKIE: &str = "session=9f3ac1d7-ada";
const STORED: &str = "a77e-stored-word";

/// A site with a door; it ends with the test's process.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let (extra, body) = page(&head);
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                drop(stream.write_all(answer.as_bytes()));
            });
        }
    });
    host
}

fn page(head: &str) -> (String, String) {
    match head.split_whitespace().nth(1).unwrap_or_default() {
        "/enter" => (
            format!("Set-Cookie: {COOKIE}; Path=/; HttpOnly\r\n"),
            format!(
                "<title>Welcome</title><script>localStorage.setItem('word', '{STORED}')</script>"
            ),
        ),
        "/home" if head.contains(COOKIE) => (
            String::new(),
            format!(
                "<title>out</title><body style='background:#246;color:white;font:40px sans-serif'><h1>Hello, ada</h1>\
                 <script>if (localStorage.getItem('word') === '{STORED}') document.title = 'Home'</script>"
            ),
        ),
        _ => (
            String::new(),
            "<title>Log in</title><h1>Log in</h1>".to_owned(),
        ),
    }
}

fn world(host: &str) -> TestEnv {
    TestEnv::with_config(&format!("[browser]\nallow_hosts = [\"{host}\"]\n"))
}

pub(crate) fn ask(lines: &mut Lines, method: &str, params: Value) -> Value {
    let asked = json!({"id": 1, "method": method, "params": params});
    lines.ask(&asked.to_string())
}

/// The title of a page in a session.
fn title(lines: &mut Lines, url: &str, session: &Value) -> Value {
    let mut params = json!({"url": url});
    if !session.is_null() {
        params["sessionId"] = session.clone();
    }
    let went = ask(lines, "browser.navigate", params);
    let title = went["data"]["page"]["title"].clone();
    assert!(title.is_string(), "{went}");
    title
}

/// Every file below a folder that has some text in it.
pub(crate) fn holding(folder: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            holding(&path, text, found);
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(text.len()).any(|it| it == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_named_profile_is_logged_in_after_a_restart_and_after_a_kill() {
    let host = site();
    let env = world(&host);
    let url = |path: &str| format!("http://{host}/{path}");
    let profiles = |action: &[&str]| {
        let all: Vec<&str> = ["browser", "profiles"]
            .iter()
            .chain(action)
            .copied()
            .collect();
        env.run(&all)
    };
    let mut lines = Lines::start(&env, &[]);
    let made = ask(
        &mut lines,
        "browser.create_session",
        json!({"profile": "work"}),
    );
    assert_eq!(made["data"]["profile"]["cookies"], 0, "{made}");
    let session = made["data"]["sessionId"].clone();
    assert_eq!(title(&mut lines, &url("home"), &session), "Log in");
    assert_eq!(title(&mut lines, &url("enter"), &session), "Welcome");
    assert_eq!(title(&mut lines, &url("home"), &session), "Home");
    // It is kept while the session goes on; nobody has to close anything.
    let kept = || {
        let listed = profiles(&["list", "--json"]).exits(0).json();
        let is_all = listed["profiles"][0]["sites"]
            .as_array()
            .is_some_and(|it| it.len() == 2);
        is_all && listed["profiles"][0]["cookies"] == 1
    };
    while !kept() {
        thread::sleep(std::time::Duration::from_millis(50));
    }
    lines.child.kill().unwrap();
    drop(lines);

    let mut lines = Lines::start(&env, &[]);
    let made = ask(
        &mut lines,
        "browser.create_session",
        json!({"profile": "work"}),
    );
    assert_eq!(made["data"]["profile"]["cookies"], 1, "{made}");
    let session = made["data"]["sessionId"].clone();
    assert_eq!(title(&mut lines, &url("home"), &session), "Home");
    // Nobody else is: not another session, not another profile.
    assert_eq!(title(&mut lines, &url("home"), &Value::Null), "Log in");
    let other = ask(
        &mut lines,
        "browser.create_session",
        json!({"profile": "play"}),
    );
    let other = other["data"]["sessionId"].clone();
    assert_eq!(title(&mut lines, &url("home"), &other), "Log in");
    let bad = ask(
        &mut lines,
        "browser.create_session",
        json!({"profile": "../up"}),
    );
    assert_eq!(bad["error"]["errorCode"], "INVALID_PARAMETER", "{bad}");
    // A session that has none can be kept under a name, too.
    assert_eq!(title(&mut lines, &url("enter"), &Value::Null), "Welcome");
    let saved = ask(
        &mut lines,
        "browser.save_profile",
        json!({"profile": "mine"}),
    );
    assert_eq!(saved["data"]["profile"]["cookies"], 1, "{saved}");
    let closed = ask(
        &mut lines,
        "browser.close_session",
        json!({"sessionId": session}),
    );
    assert_eq!(closed["data"]["success"], true, "{closed}");
    lines.end();
    assert_eq!(lines.wait(), Some(0));

    // Nothing of it can be read on disk, in records or in logs.
    for secret in [COOKIE, STORED] {
        let mut found = Vec::new();
        holding(&env.path(""), secret, &mut found);
        assert!(found.is_empty(), "{secret} is in {found:?}");
    }
    env.whole();

    // It can be handed on by whoever has the state, and deleted.
    let listed = profiles(&["list"]).exits(0);
    assert!(
        listed.out.contains("work") && listed.out.contains(&host),
        "{listed:#?}"
    );
    assert!(!listed.out.contains(COOKIE) && !listed.out.contains(STORED));
    profiles(&["export", "work"]).exits(0);
    let file = env.path("project/work.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains(STORED) && text.contains("9f3ac1d7-ada"),
        "{text}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    profiles(&["export", "work"]).exits(2);
    profiles(&["import", "copy", "work.json"]).exits(0);
    profiles(&["delete", "work"]).exits(0);
    profiles(&["delete", "work"]).exits(2);
    profiles(&["import", "bad", "none.json"]).exits(2);
    let mut lines = Lines::start(&env, &[]);
    for (name, wanted) in [("copy", "Home"), ("mine", "Home"), ("work", "Log in")] {
        let made = ask(
            &mut lines,
            "browser.create_session",
            json!({"profile": name}),
        );
        let session = made["data"]["sessionId"].clone();
        assert_eq!(title(&mut lines, &url("home"), &session), wanted, "{name}");
    }
}

#[test]
fn a_profile_that_was_sealed_with_another_key_is_refused() {
    let host = site();
    let mut env = world(&host);
    env.configure("[browser]\nprofile_key = \"env:PROFILE_KEY\"\n");
    let state = env.write("project/state.json", "{\"cookies\": [], \"origins\": []}");
    let import = ["browser", "profiles", "import", "work", &state];
    let none = env.run(&import).exits(1);
    assert!(none.err.contains("PROFILE_KEY"), "{none:#?}");
    env.set("PROFILE_KEY", "a long text that nobody would ever guess");
    env.run(&import).exits(0);
    env.configure("");
    let made = env.call("browser.create_session", "{\"profile\": \"work\"}", &[]);
    let made = made.exits(1).json();
    let why = made["error"]["message"].as_str().unwrap();
    assert!(why.contains("another key"), "{made}");
    let listed = env.run(&["browser", "profiles", "list"]).exits(0);
    assert!(listed.out.contains("another key"), "{listed:#?}");
}

#[test]
fn one_command_goes_on_with_the_page_of_the_one_before() {
    let host = site();
    let env = world(&host);
    let go = |path: &str| {
        let arguments = json!({"url": format!("http://{host}/{path}")}).to_string();
        env.ok("browser.navigate", &arguments)
    };
    go("enter");
    let home = go("home");
    assert_eq!(home["data"]["page"]["title"], "Home", "{home}");
    let more = ["--output", "page.png"];
    let shot = env.call("browser.screenshot", "{}", &more).exits(0).json();
    assert_eq!(shot["data"]["page"]["title"], "Home", "{shot}");
    assert_eq!(shot["warnings"], json!(["page_reopened"]), "{shot}");
    let picture = std::fs::read(env.path("project/page.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 1000);
    let listed = env.ok("browser.list_tabs", "{}");
    let tab = listed["data"]["tabs"][0].clone();
    assert_eq!(tab["url"], format!("http://{host}/home"), "{listed}");
    assert_eq!(listed["data"]["activeTabId"], tab["id"], "{listed}");
    // Another conversation sees nothing of it, and closing ends it.
    let other = ["--session", "other"];
    let other = env.call("browser.list_tabs", "{}", &other).exits(0).json();
    assert_eq!(other["data"]["tabs"], json!([]), "{other}");
    env.call("browser.list_tabs", "{}", &more).exits(1);
    env.ok("browser.close_session", "{}");
    let gone = env.ok("browser.list_tabs", "{}");
    assert_eq!(gone["data"]["tabs"], json!([]), "{gone}");
    assert_eq!(go("home")["data"]["page"]["title"], "Log in");
    let mut found = Vec::new();
    holding(&env.path(""), STORED, &mut found);
    assert!(found.is_empty(), "{found:?}");
}
