//! Clicking, typing and choosing, as a person would.
//!
//! An element is brought into view, and nothing is clicked that something else covers: what a
//! human agreed to is what is hit.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Tab, keys::Stroke, logs::Dialog};
use crate::{
    error::Error,
    page::{
        element::SECRET,
        locate::{Handle, Target},
    },
    protocol::commands::{Focus, InsertText, Key, Mouse, ScrollIntoView, SetFiles},
};

/// Until nothing covers an element.
const UNCOVERED: Duration = Duration::from_secs(2);
/// Until a page that was submitted is there.
const SUBMITTED: Duration = Duration::from_secs(5);
/// Longer texts are put in at once instead of key by key.
const KEYED: usize = 400;
/// How far one scroll goes.
const STEP: i64 = 300;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end.
    Down,
    /// Towards the beginning.
    Up,
}

/// What an action led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clicked {
    /// What the element goes by now.
    pub id: String,
    /// The dialog it opened.
    pub dialog: Option<Dialog>,
}

/// How far a page is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Scrolled {
    /// From the top, in pixels.
    pub y: f64,
    /// Whether there is no more in this direction.
    pub end: bool,
}

/// What is on top where an element is clicked, if it is not the element itself: its tag. `at` is
/// the place, the middle if there is none; with `inside` it is one in the frame that the element
/// holds.
const COVERED: &str = "function(at, inside) { \
    const box = this.getBoundingClientRect(); \
    const style = inside ? getComputedStyle(this) : null; \
    const edge = (side) => style ? parseFloat(style['border' + side + 'Width']) + parseFloat(style['padding' + side]) : 0; \
    const wide = inside && this.offsetWidth ? box.width / this.offsetWidth : 1; \
    const high = inside && this.offsetHeight ? box.height / this.offsetHeight : 1; \
    const x = !at ? box.left + box.width / 2 : inside ? box.left + (edge('Left') + at[0]) * wide : at[0]; \
    const y = !at ? box.top + box.height / 2 : inside ? box.top + (edge('Top') + at[1]) * high : at[1]; \
    const outside = '(outside)'; \
    const cover = () => { \
        let top = this.ownerDocument.elementFromPoint(x, y); \
        while (top && top.shadowRoot) { \
            const inner = top.shadowRoot.elementFromPoint(x, y); \
            if (!inner || inner === top) break; \
            top = inner; \
        } \
        if (!top) return outside; \
        for (let one = top; one; one = one.parentNode || one.host) if (one === this) return null; \
        const reacts = top.closest('a, button, label, summary, option, [role=button], [role=link], [onclick]'); \
        for (let one = this; reacts && one; one = one.parentNode || one.host) if (one === reacts) return null; \
        if (this.labels && [...this.labels].some((label) => label.contains(top))) return null; \
        return top.tagName.toLowerCase() + (top.id ? '#' + top.id.slice(0, 40) : ''); }; \
    return { cover: cover(), at: [x, y] }; }";

/// What [`COVERED`] says of a place that is not in view.
const OUTSIDE: &str = "(outside)";

/// What is on top of an element, and where that was looked at in its document.
#[derive(Deserialize)]
struct Covered {
    cover: Option<String>,
    at: [f64; 2],
}

/// Brings an element away from what stays at the edges of a page.
const CENTER: &str = "function() { \
    this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' }); return true; }";

/// Whether an element can be used.
const USABLE: &str = "function() { return !this.matches?.(':disabled'); }";

/// Whether what is typed goes to this field.
const FOCUSED: &str = "function() { \
    const active = this.getRootNode().activeElement; \
    return this.ownerDocument.hasFocus() && !!active && (active === this || active.contains(this)); }";

/// Adds to what a field holds, without keys that might go elsewhere; false if it is none.
const APPEND: &str = "function(text) { \
    const own = ['input', 'textarea'].includes(this.localName) \
        && Object.getOwnPropertyDescriptor(Object.getPrototypeOf(this), 'value'); \
    if (!own || this.disabled || this.readOnly) return false; \
    own.set.call(this, this.value + text); \
    this.dispatchEvent(new Event('input', { bubbles: true, composed: true })); \
    this.dispatchEvent(new Event('change', { bubbles: true })); \
    return true; }";

const CARET: &str = "function() { \
    try { this.setSelectionRange(this.value.length, this.value.length); } catch { \
        if (this.isContentEditable) { \
            const range = document.createRange(); range.selectNodeContents(this); range.collapse(false); \
            const chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range); } } \
    const active = this.getRootNode().activeElement; \
    return !!active && (active === this || active.contains(this)); }";

// An element may be of another realm than the script that is asked about it, so `instanceof` says
// nothing of it.
const CHOOSE: &str = "function(wanted) { \
    if (this.localName !== 'select' || !this.options) return 'not a list of options'; \
    const norm = (text) => text.replace(/\\s+/g, ' ').trim(); \
    const all = [...this.options]; \
    const found = all.find((one) => one.value === wanted) || all.find((one) => norm(one.label) === norm(wanted)); \
    if (!found) return 'no such option; there are: ' + all.slice(0, 30).map((one) => norm(one.label)).join(', '); \
    if (found.disabled || found.parentNode?.disabled || this.disabled) return 'this option cannot be chosen'; \
    if (!this.multiple) for (const one of all) one.selected = false; \
    found.selected = true; \
    this.dispatchEvent(new Event('input', { bubbles: true, composed: true })); \
    this.dispatchEvent(new Event('change', { bubbles: true })); \
    return ''; }";

// What is written is text with a form, as an editor would make it, and nothing of it runs. It is
// made anew: what a page's own world hears of cannot be taken away from a node in ours.
const FILL: &str = "function(value, html) { \
    const plain = ['a', 'abbr', 'b', 'blockquote', 'br', 'caption', 'code', 'dd', 'del', 'div', 'dl', 'dt', 'em', \
        'figcaption', 'figure', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'img', 'ins', 'kbd', 'li', 'mark', 'ol', \
        'p', 'pre', 'q', 's', 'small', 'span', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', \
        'tr', 'u', 'ul']; \
    const kept = ['alt', 'class', 'colspan', 'dir', 'height', 'href', 'lang', 'rowspan', 'src', 'start', 'title', 'width']; \
    const safe = /^(https?:|mailto:|[^:]*$|[/?#.])/i; \
    const copy = (from) => [...from.childNodes].flatMap((one) => { \
        if (one.nodeType === 3) return [document.createTextNode(one.data)]; \
        if (one.nodeType !== 1 || !plain.includes(one.localName)) return []; \
        const made = document.createElement(one.localName); \
        for (const { name, value } of one.attributes) { \
            const leads = name === 'href' || name === 'src'; \
            if (kept.includes(name) && (!leads || safe.test(value.trim()))) made.setAttribute(name, value); } \
        made.append(...copy(one)); \
        return [made]; }); \
    const inert = (html) => copy(new DOMParser().parseFromString(html, 'text/html').body); \
    const told = () => { \
        this.dispatchEvent(new Event('input', { bubbles: true, composed: true })); \
        this.dispatchEvent(new Event('change', { bubbles: true })); }; \
    const own = ['input', 'textarea'].includes(this.localName) \
        && Object.getOwnPropertyDescriptor(Object.getPrototypeOf(this), 'value'); \
    if (own) { \
        if (['checkbox', 'radio', 'file', 'button', 'submit', 'image', 'reset'].includes(this.type)) return 'this field has no text'; \
        if (this.disabled || this.readOnly) return 'this field cannot be changed'; \
        const before = this.value, strict = ['number', 'range', 'date', 'time', 'datetime-local', 'month', 'week', 'color']; \
        own.set.call(this, value); \
        const kept = this.value, same = (text) => text.trim().toLowerCase().replace(' ', 'T'); \
        if (strict.includes(this.type) && same(kept) !== same(value)) { \
            own.set.call(this, before); \
            return 'a field of the type ' + this.type + ' does not take this value' \
                + (kept ? ', it would hold `' + kept + '`' : '') + '; it is as before'; } \
        told(); return ''; } \
    if (this.isContentEditable) { \
        if (html) this.replaceChildren(...inert(value)); else this.textContent = value; \
        told(); return ''; } \
    return 'only fields and editable text have a value'; }";

const HOLDS: &str = "function(value) { return (this.value ?? this.textContent) === value; }";

const SCROLL: &str = "(by) => { \
    let one = document.elementFromPoint(innerWidth / 2, innerHeight / 2); \
    const moves = (it) => it.scrollHeight > it.clientHeight + 1 && /auto|scroll|overlay/.test(getComputedStyle(it).overflowY); \
    while (one && one !== document.documentElement && one !== document.body && !moves(one)) one = one.parentElement; \
    const it = (one && one !== document.body && one !== document.documentElement) ? one : document.scrollingElement || document.documentElement; \
    it.scrollBy({ top: by, behavior: 'instant' }); \
    const end = by > 0 ? it.scrollTop + it.clientHeight >= it.scrollHeight - 1 : it.scrollTop <= 0; \
    return { y: it.scrollTop, end }; }";

impl Tab {
    /// Clicks an element.
    pub async fn click(&self, target: impl Into<Target<'_>>) -> Result<Clicked, Error> {
        let handle = self.locate(target).await?;
        let loader = self.lock().loader.clone();
        let point = self.pointed(&handle).await?;
        let pressed = self.mouse("mousePressed", point, Some("left")).await;
        let released = match pressed {
            Ok(()) => self.mouse("mouseReleased", point, Some("left")).await,
            Err(error) => Err(error),
        };
        self.acted(released, handle.id, &loader, SUBMITTED).await
    }

    /// Moves the mouse to an element that can be clicked, and says where that is. What the page
    /// does about the mouse may put something else there.
    async fn pointed(&self, handle: &Handle) -> Result<(f64, f64), Error> {
        let is_usable: bool = self
            .run_on(&handle.session, &handle.object, USABLE, Vec::new())
            .await?;
        if !is_usable {
            return Err(Error::Invalid(format!("`{}` is disabled", handle.id)));
        }
        let deadline = Instant::now() + UNCOVERED;
        loop {
            let point = self.uncovered(handle).await?;
            self.mouse("mouseMoved", point, None).await?;
            let is_clear = self.cover(handle, point).await?.is_none();
            let is_late = Instant::now() >= deadline;
            match self.middle(handle).await? {
                Some(now) if is_clear && (now == point || is_late) => return Ok(now),
                Some(_) | None if is_late => {
                    let why = format!("`{}` moves away from the mouse", handle.id);
                    return Err(Error::Script(why));
                }
                Some(_) | None => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// A dialog that an action opens, or a page it leaves, is no failure of the action.
    async fn acted(
        &self,
        outcome: Result<(), Error>,
        id: String,
        loader: &str,
        patience: Duration,
    ) -> Result<Clicked, Error> {
        match outcome {
            Ok(()) | Err(Error::Protocol(_)) => self.settle(loader, patience).await?,
            Err(Error::Dialog(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(Clicked {
            id,
            dialog: self.pending_dialog(),
        })
    }

    /// Moves the mouse over an element.
    pub async fn hover(&self, id: &str) -> Result<(), Error> {
        let handle = self.locate(id).await?;
        let point = self.in_view(&handle).await?;
        self.mouse("mouseMoved", point, None).await
    }

    /// Types text at the end of what a field holds; presses Enter after it if `submit`.
    pub async fn type_text(
        &self,
        target: impl Into<Target<'_>>,
        text: &str,
        submit: bool,
    ) -> Result<Clicked, Error> {
        if text.contains('\t') {
            let why = "a Tab leads out of a field; it is a key to press, not text";
            return Err(Error::Invalid(why.to_owned()));
        }
        let target = target.into();
        let (id, handle) = (target.id, self.locate_field(target).await?);
        let loader = self.lock().loader.clone();
        let focus = Focus {
            backend_node_id: Some(handle.node),
        };
        match self.ask_in(&handle.session, &focus, super::PATIENCE).await {
            Ok(_) => {}
            Err(Error::Protocol(_)) => {
                return Err(Error::Invalid(format!("`{id}` takes no text")));
            }
            Err(error) => return Err(error),
        }
        let is_placed: bool = self
            .run_on(&handle.session, &handle.object, CARET, Vec::new())
            .await?;
        // What is secret is set without keys, so it needs no focus.
        if !is_placed && !is_secret(&handle) {
            // What is typed would land in another field.
            let why = format!("the page does not let `{id}` have the focus; set its value instead");
            return Err(Error::Invalid(why));
        }
        let typed = async {
            self.type_into(&handle, text).await?;
            if submit {
                self.still_there(&handle).await?;
                let enter =
                    Stroke::new("Enter", &[]).map_err(|it| Error::Invalid(it.to_string()))?;
                self.strike(&enter).await?;
            }
            Ok(())
        };
        let typed = typed.await;
        let patience = if submit { SUBMITTED } else { Duration::ZERO };
        self.acted(typed, handle.id, &loader, patience).await
    }

    /// Types into the field that has the focus, and nowhere else. Keys go where the focus is by
    /// then, which is the page's to say: what is secret does not travel that way.
    async fn type_into(&self, handle: &Handle, text: &str) -> Result<(), Error> {
        let is_secret = is_secret(handle);
        if is_secret {
            let appended: bool = self
                .run_on(&handle.session, &handle.object, APPEND, vec![json!(text)])
                .await?;
            if appended {
                return Ok(());
            }
        }
        if text.len() > KEYED {
            self.ask(&InsertText {
                text: text.to_owned(),
            })
            .await?;
            return Ok(());
        }
        for (at, letter) in text.chars().enumerate() {
            if at > 0 || is_secret {
                self.still_there(handle).await?;
            }
            let (key, text) = match letter {
                '\n' | '\r' => ("Enter".to_owned(), "\r".to_owned()),
                letter => (letter.to_string(), letter.to_string()),
            };
            let upper = letter.to_ascii_uppercase();
            let number = if upper.is_ascii_alphanumeric() {
                u32::from(upper)
            } else {
                0
            };
            let down = Key {
                r#type: "keyDown",
                key: Some(key.clone()),
                text: Some(text),
                windows_virtual_key_code: Some(if key == "Enter" { 13 } else { number }),
                ..Key::default()
            };
            self.ask(&down).await?;
            let up = Key {
                r#type: "keyUp",
                key: Some(key),
                ..Key::default()
            };
            self.connection.tell(Some(&self.session), &up);
        }
        Ok(())
    }

    /// Refuses to go on where the page gave the focus to something else.
    async fn still_there(&self, handle: &Handle) -> Result<(), Error> {
        let is_there: bool = self
            .run_on(&handle.session, &handle.object, FOCUSED, Vec::new())
            .await?;
        if is_there {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the page took the focus away from `{}` while it was typed into; look at what it holds, and set its value instead",
            handle.id
        )))
    }

    /// Presses a key.
    pub async fn press(&self, stroke: &Stroke) -> Result<Clicked, Error> {
        let loader = self.lock().loader.clone();
        let struck = self.strike(stroke).await;
        self.acted(struck, String::new(), &loader, SUBMITTED).await
    }

    /// Chooses an option by its value or its name.
    pub async fn select_option(
        &self,
        target: impl Into<Target<'_>>,
        value: &str,
    ) -> Result<(), Error> {
        self.change(target.into(), CHOOSE, vec![json!(value)]).await
    }

    /// Replaces what a field holds.
    pub async fn set_value(
        &self,
        target: impl Into<Target<'_>>,
        value: &str,
        is_html: bool,
    ) -> Result<(), Error> {
        let arguments = vec![json!(value), json!(is_html)];
        self.change(target.into(), FILL, arguments).await
    }

    /// Whether a field holds just this; what it holds stays in the page.
    pub async fn holds(&self, target: impl Into<Target<'_>>, value: &str) -> Result<bool, Error> {
        let handle = self.locate_field(target.into()).await?;
        self.run_on(&handle.session, &handle.object, HOLDS, vec![json!(value)])
            .await
    }

    async fn change(
        &self,
        target: Target<'_>,
        function: &str,
        arguments: Vec<serde_json::Value>,
    ) -> Result<(), Error> {
        let (id, handle) = (target.id, self.locate_field(target).await?);
        let said = self
            .run_on::<String>(&handle.session, &handle.object, function, arguments)
            .await;
        match said {
            Ok(said) if said.is_empty() => Ok(()),
            Ok(said) => Err(Error::Invalid(format!("`{id}`: {said}"))),
            // A dialog that a change opens is no failure of the change.
            Err(Error::Dialog(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Scrolls the page, or what is in the middle of it.
    pub async fn scroll(&self, direction: Direction) -> Result<Scrolled, Error> {
        let by = match direction {
            Direction::Down => STEP,
            Direction::Up => -STEP,
        };
        self.run(SCROLL, vec![json!(by)]).await
    }

    /// Puts a file that was checked into a field for files.
    pub async fn upload(&self, target: impl Into<Target<'_>>, file: &str) -> Result<(), Error> {
        let target = target.into();
        let (id, handle) = (target.id, self.locate(target).await?);
        let files = SetFiles {
            files: vec![file.to_owned()],
            backend_node_id: Some(handle.node),
        };
        match self.ask_in(&handle.session, &files, super::PATIENCE).await {
            Ok(_) | Err(Error::Dialog(_)) => Ok(()),
            Err(Error::Protocol(_)) => Err(Error::Invalid(format!("`{id}` takes no files"))),
            Err(error) => Err(error),
        }
    }

    /// Where the page is scrolled to.
    pub(crate) async fn scrolled(&self) -> Result<(f64, f64), Error> {
        self.run("() => [scrollX, scrollY]", Vec::new()).await
    }

    async fn in_view(&self, handle: &Handle) -> Result<(f64, f64), Error> {
        let scroll = ScrollIntoView {
            backend_node_id: Some(handle.node),
        };
        match self.ask_in(&handle.session, &scroll, super::PATIENCE).await {
            Ok(_) | Err(Error::Protocol(_)) => {}
            Err(error) => return Err(error),
        }
        let point = self.middle(handle).await?;
        point.ok_or_else(|| Error::Invalid(format!("`{}` is not visible", handle.id)))
    }

    /// Waits until nothing covers an element, and says where it is.
    async fn uncovered(&self, handle: &Handle) -> Result<(f64, f64), Error> {
        let deadline = Instant::now() + UNCOVERED;
        let mut is_centered = false;
        loop {
            let before = self.in_view(handle).await?;
            let cover = self.cover(handle, before).await?;
            // What moves is not where it was.
            let after = self.middle(handle).await?;
            match cover {
                None if after == Some(before) => return Ok(before),
                // A bar that stays at an edge covers what is scrolled there.
                Some(_) if !std::mem::replace(&mut is_centered, true) => {
                    let _: bool = self
                        .run_on(&handle.session, &handle.object, CENTER, Vec::new())
                        .await?;
                }
                None | Some(_) if Instant::now() < deadline => {
                    sleep(Duration::from_millis(100)).await;
                }
                None => return Ok(after.unwrap_or(before)),
                Some(cover) if cover == OUTSIDE => {
                    return Err(Error::Invalid(format!("`{}` is not visible", handle.id)));
                }
                Some(cover) => {
                    return Err(Error::Script(format!(
                        "`{}` is covered by <{cover}>; close or answer that first",
                        handle.id
                    )));
                }
            }
        }
    }

    /// What covers an element where it is clicked, in its own document or in one around it.
    async fn cover(&self, handle: &Handle, point: (f64, f64)) -> Result<Option<String>, Error> {
        let main = self.lock().main_frame.clone();
        let mut covered: Covered = self
            .run_on(&handle.session, &handle.object, COVERED, Vec::new())
            .await?;
        let mut frame = handle.frame.clone();
        while covered.cover.is_none() && frame != main {
            let Some(holder) = self.holder(&frame).await? else {
                break;
            };
            // On the page itself the place is known, whatever was done to the frames in it.
            let arguments = match holder.frame == main {
                true => vec![json!(point)],
                false => vec![json!(covered.at), json!(true)],
            };
            covered = self
                .run_on(&holder.session, &holder.object, COVERED, arguments)
                .await?;
            frame = holder.frame;
        }
        Ok(covered.cover)
    }

    async fn mouse(
        &self,
        r#type: &'static str,
        (x, y): (f64, f64),
        button: Option<&'static str>,
    ) -> Result<(), Error> {
        let mouse = Mouse {
            r#type,
            x,
            y,
            button,
            buttons: button.map(|_| 1),
            click_count: button.map(|_| 1),
            ..Mouse::default()
        };
        self.ask(&mouse).await?;
        Ok(())
    }
}

/// Whether a field holds what must not travel as keys.
fn is_secret(handle: &Handle) -> bool {
    handle.id.split('_').next() == Some(SECRET)
}
