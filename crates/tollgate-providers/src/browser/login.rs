//! Logging in: the fields are found, filled in and sent off, and the result is looked at.
//!
//! Invariant: what somebody logs in with is in no answer and in no error; the arguments that
//! carry it are hidden by their name wherever calls are recorded.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;
use tollgate_browser::{Element, Error, Tab, WaitFor, find_elements};
use tollgate_core::{CallContext, ErrorCode, ProviderError, toolset::bounds};

use super::{
    act::invalid,
    desk::{Desk, Hand, Place},
    faults::told,
    hidden::{HIDDEN, readings},
};

/// How long the sign of success may take.
const PATIENCE: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(500);
/// How long a field that is gone may take to be there again.
const REDRAWN: Duration = Duration::from_millis(300);

/// How fields are found if nobody says how.
const USERNAME: &str = "input[autocomplete~=username], input[type=email], input[name*=user i], \
                        input[name*=login i], input[name*=mail i], input[id*=user i]";
/// Where attributes say nothing: the field for text beside the one for the password.
const BESIDE: &str = "form:has(input[type=password]) input:is(:not([type]), [type=text], [type=tel]), \
                      :has(> input[type=password]) > input:is(:not([type]), [type=text], [type=tel])";
const PASSWORD: &str = "input[type=password]";
const SUBMIT: &[&str] = &[
    "log in",
    "login",
    "sign in",
    "登录",
    "登入",
    "anmelden",
    "connexion",
];

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct LoginArgs {
    credentials: Credentials,
    #[serde(default)]
    fields: Option<Fields>,
    #[serde(default)]
    success_indicator: Option<Indicator>,
    /// The page you mean; elsewhere nothing is done.
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Credentials {
    #[schemars(length(min = 1, max = 1000))]
    username: String,
    #[schemars(length(min = 1, max = 1000))]
    password: String,
}

/// How the fields are found; each is looked for if unset.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fields {
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    #[schemars(length(max = bounds::SELECTOR))]
    username_selector: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::SELECTOR))]
    password_selector: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::SELECTOR))]
    submit_selector: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::WORDS))]
    username_query: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::WORDS))]
    password_query: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::WORDS))]
    submit_query: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Selector,
    #[default]
    Semantic,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Indicator {
    r#type: Sign,
    #[serde(default)]
    #[schemars(length(min = 1, max = 1000))]
    value: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Sign {
    Selector,
    UrlContains,
    TextIncludes,
    Stable,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoggedIn {
    success: bool,
    final_url: String,
    title: String,
    login_state: State,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The sign of success is there.
    Authenticated,
    /// Nobody said what success looks like, and nothing says that it failed.
    Unknown,
}

pub(super) async fn log_in(
    desk: Arc<Desk>,
    args: LoginArgs,
    cx: CallContext,
) -> Result<LoggedIn, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?.at(args.url.as_deref())?;
    let tab = &hand.tab;
    let wanted = awaited(args.success_indicator.as_ref())?;
    let fields = args.fields.unwrap_or_default();
    let username = fields.username(tab).await?;
    let password = fields.password(tab).await?;
    let submit = fields.submit(tab).await?;
    let filled = [
        (username.id.as_str(), args.credentials.username.as_str()),
        (password.id.as_str(), args.credentials.password.as_str()),
    ];
    fill(&hand, filled).await?;
    match submit {
        Some(button) => tab.click(hand.target(&button.id)).await,
        None => tab.type_text(hand.target(&password.id), "", true).await,
    }
    .map_err(told)?;
    let login_state = match wanted {
        Some(sign) => match tab.wait_for(&sign, PATIENCE).await {
            Ok(()) => State::Authenticated,
            Err(Error::Timeout(why)) => {
                let why = format!("the sign of success did not come: {why}");
                return Err(refused(&hand, &args.credentials, &why).await?);
            }
            Err(error) => return Err(told(error)),
        },
        None => {
            tab.wait_for_stable(PATIENCE, QUIET).await.map_err(told)?;
            if let Some(why) = unwelcome(tab).await? {
                return Err(refused(&hand, &args.credentials, &why).await?);
            }
            State::Unknown
        }
    };
    done(&hand, &args.credentials, login_state).await
}

/// Why the page that came after the form is none for those who are logged in, if it tells: its
/// server refused, or it still asks for a password.
async fn unwelcome(tab: &Tab) -> Result<Option<String>, ProviderError> {
    if let Some(status) = tab.status().filter(|status| *status >= 400) {
        return Ok(Some(format!("the server answered {status}")));
    }
    let field = tab.selected(PASSWORD).await.map_err(told)?;
    let asks = field.is_some_and(|field| field.state.visible);
    Ok(asks.then(|| "the page still asks for a password".to_owned()))
}

/// A login that did not work, with the page that came instead.
async fn refused(
    hand: &Hand,
    credentials: &Credentials,
    why: &str,
) -> Result<ProviderError, ProviderError> {
    let page = hand.page().await?;
    let (title, url) = (
        credentials.hidden(&page.title),
        credentials.hidden_in_address(&page.url),
    );
    let message =
        format!("the login did not work: {why}; the page is \u{201c}{title}\u{201d} at {url}");
    let mut error = ProviderError::new(ErrorCode::ToolFailed, message);
    error.document_code = Some("EXECUTION_ERROR".to_owned());
    error.suggestion = Some(
        "Check name and password; where the page after the login has a field for a password, say with \
         `successIndicator` what shows that it worked."
            .to_owned(),
    );
    let status = hand.tab.status();
    error.details.insert(
        "page".to_owned(),
        json!({"url": url, "title": title, "statusCode": status}),
    );
    Ok(error)
}

/// What is shown of the page it ended at; a form that puts what it was given into its address
/// does not show it here.
async fn done(
    hand: &Hand,
    credentials: &Credentials,
    login_state: State,
) -> Result<LoggedIn, ProviderError> {
    // A browser that dies from now on costs nobody the login.
    hand.session.kept().await.map_err(told)?;
    let page = hand.page().await?;
    Ok(LoggedIn {
        success: true,
        final_url: credentials.hidden_in_address(&page.url),
        title: credentials.hidden(&page.title),
        login_state,
    })
}

/// What ends a field of a form in an address.
const ENDS: [char; 4] = ['?', '#', '&', ';'];

impl Credentials {
    /// An address that does not show them. A path may well be called like somebody: only what a
    /// form fills in is searched for names.
    fn hidden_in_address(&self, address: &str) -> String {
        let address = address.replace(&self.password, HIDDEN);
        let (path, filled) = match address.find(ENDS) {
            Some(at) => address.split_at(at),
            None => (address.as_str(), ""),
        };
        let shows_password = |text: String| text.contains(&self.password);
        let shows_any = |text: String| self.hidden(&text) != text;
        let path = path
            .split('/')
            .map(|part| match readings(part).any(shows_password) {
                true => HIDDEN,
                false => part,
            });
        let mut shown = path.collect::<Vec<&str>>().join("/");
        for field in filled.split_inclusive(ENDS) {
            let (field, end) = field.split_at(field.trim_end_matches(ENDS).len());
            let value = field.find('=').map_or(0, |at| at + 1);
            let (name, value) = field.split_at(value);
            let part = |part| match readings(part).any(shows_any) {
                true => HIDDEN,
                false => part,
            };
            shown.extend([part(name), part(value), end]);
        }
        shown
    }

    /// A text without the password, and without the name where that stands by itself.
    fn hidden(&self, text: &str) -> String {
        let text = text.replace(&self.password, HIDDEN);
        let (mut shown, mut rest) = (String::new(), text.as_str());
        while let Some(at) = rest.find(&self.username) {
            let (before, after) = (&rest[..at], &rest[at + self.username.len()..]);
            let is_within = before.ends_with(char::is_alphanumeric)
                || before.is_empty() && shown.ends_with(char::is_alphanumeric)
                || after.starts_with(char::is_alphanumeric);
            shown.push_str(before);
            shown.push_str(if is_within { &self.username } else { HIDDEN });
            rest = after;
        }
        shown + rest
    }
}

/// What is waited for after the form was sent; nothing if any end will do.
fn awaited(indicator: Option<&Indicator>) -> Result<Option<WaitFor>, ProviderError> {
    let Some(indicator) = indicator.filter(|it| it.r#type != Sign::Stable) else {
        return Ok(None);
    };
    let missing = || invalid("this sign of success needs `value`".to_owned());
    let value = indicator.value.clone().ok_or_else(missing)?;
    Ok(match indicator.r#type {
        Sign::Selector => Some(WaitFor::Selector(value)),
        Sign::UrlContains => Some(WaitFor::Address(value)),
        Sign::TextIncludes => Some(WaitFor::Text(value)),
        Sign::Stable => None,
    })
}

/// Fills in the fields. One that the page draws anew meanwhile gets a second try, also if it was
/// filled in already; what a page makes of a value then is the page's.
async fn fill(hand: &Hand, fields: [(&str, &str); 2]) -> Result<(), ProviderError> {
    let tab = &hand.tab;
    for (id, value) in fields {
        let target = hand.target(id);
        match tab.set_value(target, value, false).await {
            Err(Error::ElementNotFound { .. } | Error::Protocol(_)) => {
                sleep(REDRAWN).await;
                tab.set_value(target, value, false).await
            }
            other => other,
        }
        .map_err(told)?;
    }
    for (id, value) in fields {
        let target = hand.target(id);
        if !tab.holds(target, value).await.map_err(told)? {
            tab.set_value(target, value, false).await.map_err(told)?;
        }
    }
    Ok(())
}

impl Fields {
    async fn username(&self, tab: &Tab) -> Result<Element, ProviderError> {
        let (selector, query) = (
            self.username_selector.as_deref(),
            self.username_query.as_deref(),
        );
        let found = self
            .find(tab, selector, query, Some(USERNAME), is_text)
            .await?;
        let found = match found {
            None if selector.is_none() && query.is_none() => {
                tab.selected(BESIDE).await.map_err(told)?
            }
            other => other,
        };
        found.ok_or_else(|| not_found("username"))
    }

    async fn password(&self, tab: &Tab) -> Result<Element, ProviderError> {
        let (selector, query) = (
            self.password_selector.as_deref(),
            self.password_query.as_deref(),
        );
        let found = self
            .find(tab, selector, query, Some(PASSWORD), is_text)
            .await?;
        found.ok_or_else(|| not_found("password"))
    }

    /// The button, if one is named or can be told; else Enter is pressed.
    async fn submit(&self, tab: &Tab) -> Result<Option<Element>, ProviderError> {
        let is_button = |it: &Element| matches!(it.r#type, "button" | "link");
        let (selector, query) = (
            self.submit_selector.as_deref(),
            self.submit_query.as_deref(),
        );
        if selector.is_some() || query.is_some() {
            let found = self.find(tab, selector, query, None, is_button).await?;
            return found.map(Some).ok_or_else(|| not_found("submit"));
        }
        let all = tab.elements().await.map_err(told)?;
        let is_named = |it: &&Element| {
            let label = it.label.trim().to_lowercase();
            it.r#type == "button" && it.state.visible && SUBMIT.contains(&label.as_str())
        };
        Ok(all.iter().find(is_named).cloned())
    }

    /// By selector, by words, or in the usual way.
    async fn find(
        &self,
        tab: &Tab,
        selector: Option<&str>,
        query: Option<&str>,
        usual: Option<&str>,
        fits: impl Fn(&Element) -> bool,
    ) -> Result<Option<Element>, ProviderError> {
        let selector = match self.mode {
            Mode::Selector => selector.or(usual),
            Mode::Semantic => usual.filter(|_| query.is_none()),
        };
        if let Some(selector) = selector {
            return tab.selected(selector).await.map_err(told);
        }
        let all = tab.elements().await.map_err(told)?;
        let good: Vec<Element> = all
            .into_iter()
            .filter(|it| fits(it) && it.state.visible && it.state.enabled)
            .collect();
        let best = find_elements(&good, query.unwrap_or_default());
        let best = best.into_iter().next();
        Ok(best.and_then(|best| good.into_iter().find(|it| it.id == best.id)))
    }
}

fn is_text(element: &Element) -> bool {
    element.actions.contains(&"type")
}

fn not_found(field: &str) -> ProviderError {
    let message = format!("the page has no field for the {field} that could be found");
    let mut error = ProviderError::new(ErrorCode::NotFound, message);
    error.document_code = Some("ELEMENT_NOT_FOUND".to_owned());
    error.suggestion = Some("Name the fields with selectors.".to_owned());
    error.details.insert("field".to_owned(), field.into());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(username: &str, password: &str) -> Credentials {
        Credentials {
            username: username.to_owned(),
            password: password.to_owned(),
        }
    }

    #[test]
    fn an_address_shows_neither_the_name_nor_the_password() {
        let plain = credentials("anna", "open sesame&4711");
        let cases = [
            (
                "/in?user=anna&word=open+sesame%264711",
                "/in?user=********&word=********",
            ),
            (
                "/in?word=open%20sesame%264711#anna",
                "/in?word=********#********",
            ),
            ("/in/open+sesame%264711?next=1", "/in/********?next=1"),
            ("/anna/home?hannah=annas&x=1", "/anna/home?hannah=annas&x=1"),
        ];
        for (address, shown) in cases {
            assert_eq!(plain.hidden_in_address(address), shown);
        }
        let mail = credentials("anna+b@example.com", "x=y");
        for address in [
            "?m=anna%2Bb%40example.com&p=x%3Dy",
            "?m=anna%2bb@example.com&p=x%3dy",
        ] {
            assert_eq!(mail.hidden_in_address(address), "?m=********&p=********");
        }
        assert_eq!(
            plain.hidden("Hello, anna! Hannah"),
            "Hello, ********! Hannah"
        );
    }
}
