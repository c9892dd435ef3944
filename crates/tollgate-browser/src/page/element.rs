//! Elements that can be used, and the ids they go by.
//!
//! An id names the node itself and not its place, so it holds as long as the node is there,
//! whatever else the page draws anew.

use serde::Serialize;
use serde_json::{Value, json};

/// How much of a name goes into an id.
const SLUG: usize = 20;
/// The longest name that is shown.
pub(crate) const LONGEST_LABEL: usize = 200;
/// What stands for a value that nobody needs to see.
pub(crate) const HIDDEN: &str = "********";

/// Something on a page that can be used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Element {
    /// What it goes by.
    pub id: String,
    /// What it is: `button`, `link`, `textbox`, …
    pub r#type: &'static str,
    /// Its name, as a screen reader says it.
    pub label: String,
    /// What can be done with it.
    pub actions: &'static [&'static str],
    /// How it is.
    pub state: State,
    /// The part of the page it is in.
    pub region: &'static str,
    /// Where it is on the page.
    pub bounds: Bounds,
    /// The conversation it can be reached in.
    #[serde(skip)]
    pub(crate) session: String,
    #[serde(skip)]
    pub(crate) node: i64,
}

/// How an element is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct State {
    /// Whether it is drawn.
    pub visible: bool,
    /// Whether it can be used.
    pub enabled: bool,
    /// Whether keys go to it.
    pub focused: bool,
    /// Whether it is ticked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// What it holds; hidden if it is a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A rectangle in the page's own pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// From the left edge.
    pub x: i64,
    /// From the top.
    pub y: i64,
    /// How wide.
    pub width: i64,
    /// How high.
    pub height: i64,
}

impl Element {
    /// Whether it tells what a field holds.
    pub(crate) fn tells(&self) -> bool {
        self.state.value.as_ref().is_some_and(|it| it != HIDDEN)
    }

    /// One that only a selector finds: it has no role that tells what it is for.
    pub(crate) fn plain(label: &str, session: &str, node: i64) -> Self {
        let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            id: id("any", &label, None, node),
            r#type: "any",
            label,
            actions: CLICK,
            state: State {
                visible: true,
                enabled: true,
                focused: false,
                checked: None,
                value: None,
            },
            region: "main",
            bounds: Bounds::default(),
            session: session.to_owned(),
            node,
        }
    }
}

impl Bounds {
    pub(crate) fn of(rectangle: &[f64], offset: (f64, f64)) -> Self {
        let at = |index: usize| rectangle.get(index).copied().unwrap_or_default();
        Self {
            x: whole(at(0) + offset.0),
            y: whole(at(1) + offset.1),
            width: whole(at(2)),
            height: whole(at(3)),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.width <= 0 || self.height <= 0
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "positions on a page are far smaller"
)]
pub(crate) fn whole(number: f64) -> i64 {
    number.round() as i64
}

/// A kind of element: its role, its type, the prefix of its id, and what can be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) r#type: &'static str,
    pub(crate) prefix: &'static str,
    pub(crate) actions: &'static [&'static str],
}

const CLICK: &[&str] = &["click"];
const TYPE: &[&str] = &["type", "set_value"];
const SET: &[&str] = &["set_value"];
const TYPE_OR_CLICK: &[&str] = &["type", "set_value", "click"];
const SELECT: &[&str] = &["select"];
const UPLOAD: &[&str] = &["upload"];

const KINDS: &[(&[&str], Kind)] = &[
    (
        &["button", "DisclosureTriangle"],
        kind("button", "btn", CLICK),
    ),
    (&["link"], kind("link", "link", CLICK)),
    (
        &["textbox", "spinbutton", "slider"],
        kind("textbox", "input", TYPE),
    ),
    (&["searchbox"], kind("searchbox", "input", TYPE)),
    (&["checkbox", "switch"], kind("checkbox", "chk", CLICK)),
    (&["radio"], kind("radio", "radio", CLICK)),
    (&["combobox", "listbox"], kind("combobox", "select", SELECT)),
    (
        &["menuitem", "menuitemcheckbox", "menuitemradio"],
        kind("menuitem", "menu", CLICK),
    ),
    (&["tab"], kind("tab", "tab", CLICK)),
    (&["option"], kind("option", "opt", CLICK)),
    (&["treeitem"], kind("treeitem", "tree", CLICK)),
    (&["gridcell"], kind("gridcell", "cell", CLICK)),
    (
        &["Date", "DateTime", "InputTime", "ColorWell"],
        kind("textbox", "input", SET),
    ),
];

/// What the ids of fields begin with whose values are secrets: whoever sees a call knows, without
/// the page, that what is typed there is nobody's business.
pub(crate) const SECRET: &str = "secret";

pub(crate) const FILE: Kind = kind("file", "file", UPLOAD);

/// A list that can be typed into.
pub(crate) const EDITABLE_LIST: Kind = kind("combobox", "input", TYPE_OR_CLICK);
/// A list that the page draws itself: it opens when it is clicked.
pub(crate) const DRAWN_LIST: Kind = kind("combobox", "select", CLICK);
/// Text that can be edited and has no role.
pub(crate) const EDITABLE: Kind = kind("textbox", "input", TYPE);
/// What can be clicked and has no role.
pub(crate) const ANY: Kind = kind("any", "any", CLICK);

const fn kind(
    r#type: &'static str,
    prefix: &'static str,
    actions: &'static [&'static str],
) -> Kind {
    Kind {
        r#type,
        prefix,
        actions,
    }
}

/// The kind of a role, if it is one that can be used.
pub(crate) fn kind_of(role: &str) -> Option<Kind> {
    let found = KINDS.iter().find(|(roles, _)| roles.contains(&role));
    found.map(|(_, kind)| *kind)
}

/// The id of a node; `frame` is the number of a frame with a process of its own.
pub(crate) fn id(prefix: &str, label: &str, frame: Option<usize>, node: i64) -> String {
    let slug = slug(label);
    match frame {
        Some(frame) => format!("{prefix}_{slug}_f{frame}_{node}"),
        None => format!("{prefix}_{slug}_{node}"),
    }
}

fn slug(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    let slug: String = words.join("_").chars().take(SLUG).collect();
    if slug.is_empty() {
        "unnamed".to_owned()
    } else {
        slug
    }
}

/// What an id says: prefix and name, the number of its frame, its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) stem: String,
    pub(crate) frame: Option<usize>,
    pub(crate) node: i64,
}

/// Reads an id.
pub(crate) fn parse(id: &str) -> Option<Named> {
    let (stem, node) = id.rsplit_once('_')?;
    let node = node.parse().ok()?;
    let framed = stem.rsplit_once('_').and_then(|(stem, frame)| {
        let number = frame.strip_prefix('f')?.parse().ok()?;
        // A frame's number follows prefix and name.
        stem.contains('_').then_some((stem, number))
    });
    Some(match framed {
        Some((stem, frame)) => Named {
            stem: stem.to_owned(),
            frame: Some(frame),
            node,
        },
        None => Named {
            stem: stem.to_owned(),
            frame: None,
            node,
        },
    })
}

/// Words that tell that a field holds a secret.
const TELLING: &[&str] = &[
    "password",
    "passwd",
    "passcode",
    "passphrase",
    "secret",
    "token",
    "api key",
    "api_key",
    "api-key",
    "apikey",
    "pin code",
    "security code",
    "cvc",
    "cvv",
    "adgangskode",
    "contrasena",
    "contraseña",
    "hasło",
    "kennwort",
    "lösenord",
    "mot de passe",
    "passwort",
    "salasana",
    "senha",
    "şifre",
    "wachtwoord",
    "пароль",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "密码",
    "密碼",
    "口令",
    "验证码",
    "驗證碼",
];

/// Words that tell it too, but are parts of others that do not.
const TELLING_ALONE: &[&str] = &["otp", "pin", "pwd"];

/// Kinds of fields whose values stay on the page.
const SECRET_FIELDS: &[&str] = &[
    "current-password",
    "new-password",
    "one-time-code",
    "cc-number",
    "cc-csc",
];

/// Whether a field's value is a secret, by all that is known of it.
pub(crate) fn is_secret(input: Option<&str>, autocomplete: Option<&str>, names: &[&str]) -> bool {
    let is_kind = |text: &str| SECRET_FIELDS.contains(&text);
    let is_told = |name: &str| {
        let name = name.to_lowercase();
        let mut words = name.split(|c: char| !c.is_alphanumeric());
        TELLING.iter().any(|word| name.contains(word))
            || words.any(|word| TELLING_ALONE.contains(&word))
    };
    input.is_some_and(|kind| kind.eq_ignore_ascii_case("password"))
        || autocomplete.is_some_and(|it| it.split_whitespace().any(is_kind))
        || names.iter().any(|name| is_told(name))
}

/// By what scripts tell the same, as [`IS_SECRET`] takes it.
pub(crate) fn telling() -> Value {
    json!([TELLING, TELLING_ALONE, SECRET_FIELDS])
}

/// The same question, asked within a page; `facts` tells what a field is for.
pub(crate) const IS_SECRET: &str = "(one, [words, alone, kinds]) => { \
    const { kind, autocomplete, names } = facts.call(one); \
    if (kind.toLowerCase() === 'password' || autocomplete.split(/\\s+/).some((it) => kinds.includes(it))) return true; \
    return names.map((name) => name.toLowerCase()).some((name) => words.some((word) => name.includes(word)) \
        || name.split(/[^\\p{L}\\p{N}]+/u).some((word) => alone.includes(word))); }";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let plain = id("btn", "Add  to\ncart", None, 17);
        assert_eq!(plain, "btn_Add_to_cart_17");
        assert_eq!(
            parse(&plain),
            Some(Named {
                stem: "btn_Add_to_cart".into(),
                frame: None,
                node: 17
            })
        );
        let framed = id("input", "", Some(2), 5);
        assert_eq!(framed, "input_unnamed_f2_5");
        assert_eq!(
            parse(&framed),
            Some(Named {
                stem: "input_unnamed".into(),
                frame: Some(2),
                node: 5
            })
        );
        assert_eq!(
            id(
                "link",
                "一二三四五六七八九十一二三四五六七八九十一",
                None,
                1
            )
            .chars()
            .count(),
            27
        );
        for bad in ["", "btn", "btn_x", "_", "btn_x_y"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn secrets_are_told_by_kind_and_name() {
        assert!(is_secret(Some("PASSWORD"), None, &[]));
        assert!(is_secret(
            Some("text"),
            Some("section-a one-time-code"),
            &[]
        ));
        assert!(is_secret(None, None, &["API Token"]));
        assert!(is_secret(None, None, &["支付密码"]));
        assert!(is_secret(None, None, &["Mot de passe"]));
        assert!(is_secret(None, None, &["Ihr Passwort"]));
        assert!(is_secret(None, None, &["Your PIN:"]) && is_secret(None, None, &["user_pwd"]));
        assert!(!is_secret(None, None, &["Shipping", "Pinterest", "hotpot"]));
        assert!(!is_secret(
            Some("text"),
            Some("username"),
            &["User name", "login"]
        ));
    }
}
