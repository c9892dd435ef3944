//! Keys that may be pressed, and combinations that may not.

use super::Tab;
use crate::{error::Error, protocol::commands::Key};

/// Keys that stand for themselves: name, code, number, text.
const KEYS: &[(&str, &str, u32, Option<&str>)] = &[
    ("Enter", "Enter", 13, Some("\r")),
    ("Escape", "Escape", 27, None),
    ("Tab", "Tab", 9, None),
    ("Backspace", "Backspace", 8, None),
    ("Delete", "Delete", 46, None),
    ("Space", "Space", 32, Some(" ")),
    ("ArrowUp", "ArrowUp", 38, None),
    ("ArrowDown", "ArrowDown", 40, None),
    ("ArrowLeft", "ArrowLeft", 37, None),
    ("ArrowRight", "ArrowRight", 39, None),
    ("Home", "Home", 36, None),
    ("End", "End", 35, None),
    ("PageUp", "PageUp", 33, None),
    ("PageDown", "PageDown", 34, None),
];

/// Keys that are held while another is pressed, with their bits.
const MODIFIERS: &[(&str, u32)] = &[("Alt", 1), ("Control", 2), ("Meta", 4), ("Shift", 8)];

const CONTROL: u32 = 2;
const META: u32 = 4;
const SHIFT: u32 = 8;

/// A key that is pressed, with others held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stroke {
    key: String,
    code: String,
    number: u32,
    text: Option<String>,
    modifiers: u32,
}

/// Why a key is not pressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no such key.
    #[error("`{0}` is not a key that can be pressed here; text is typed with `type_text`")]
    Unknown(String),
    /// It would close or leave the page, or open the browser's own tools.
    #[error("this combination belongs to the browser and is not pressed")]
    Refused,
    /// All sessions of a browser share its clipboard.
    #[error(
        "the clipboard is not used, since other sessions share it; read the page and write with `set_value`"
    )]
    Clipboard,
}

impl Stroke {
    /// A key by its name, with the names of those held.
    pub fn new(key: &str, modifiers: &[String]) -> Result<Self, KeyError> {
        let mut held = 0;
        for name in modifiers {
            let found = MODIFIERS
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name));
            held |= found.ok_or_else(|| KeyError::Unknown(name.clone()))?.1;
        }
        let named = KEYS
            .iter()
            .find(|(name, ..)| name.eq_ignore_ascii_case(key));
        if let Some((name, code, number, text)) = named {
            if *name == "Delete" && held & CONTROL != 0 && held & SHIFT != 0 {
                return Err(KeyError::Refused);
            }
            // Which cuts.
            if *name == "Delete" && held & SHIFT != 0 {
                return Err(KeyError::Clipboard);
            }
            let key = if *name == "Space" { " " } else { name };
            return Ok(Self {
                key: key.to_owned(),
                code: (*code).to_owned(),
                number: *number,
                text: text
                    .filter(|_| held & (CONTROL | META) == 0)
                    .map(str::to_owned),
                modifiers: held,
            });
        }
        let mut letters = key.chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else {
            return Err(KeyError::Unknown(key.to_owned()));
        };
        let letter = letter.to_ascii_lowercase();
        // A letter without anything held is text, and text is typed.
        if !letter.is_ascii_alphanumeric() || held == 0 {
            return Err(KeyError::Unknown(key.to_owned()));
        }
        let command = held & (CONTROL | META) != 0;
        let shifted = held & SHIFT != 0;
        if command && (matches!(letter, 'w' | 'q') || (shifted && matches!(letter, 'i' | 'j'))) {
            return Err(KeyError::Refused);
        }
        if command && matches!(letter, 'c' | 'x' | 'v') {
            return Err(KeyError::Clipboard);
        }
        let upper = letter.to_ascii_uppercase();
        let key = if shifted { above(letter) } else { letter };
        Ok(Self {
            key: key.to_string(),
            code: if letter.is_ascii_digit() {
                format!("Digit{letter}")
            } else {
                format!("Key{upper}")
            },
            number: u32::from(upper),
            text: (held == SHIFT).then(|| key.to_string()),
            modifiers: held,
        })
    }

    /// Edits that a browser without a menu has to be told by name.
    fn edits(&self) -> Option<Vec<&'static str>> {
        let edit = match (self.modifiers, self.key.as_str()) {
            (CONTROL | META, "a") => "selectAll",
            (CONTROL | META, "z") => "undo",
            (CONTROL | META, "y") => "redo",
            _ => return None,
        };
        Some(vec![edit])
    }

    fn command(&self, r#type: &'static str) -> Key {
        Key {
            r#type,
            key: Some(self.key.clone()),
            code: Some(self.code.clone()),
            text: self.text.clone().filter(|_| r#type == "keyDown"),
            windows_virtual_key_code: Some(self.number),
            modifiers: Some(self.modifiers),
            commands: self.edits().filter(|_| r#type != "keyUp"),
        }
    }
}

/// What a letter or digit is with Shift held, on the keyboard that pages expect.
fn above(letter: char) -> char {
    let digits = [')', '!', '@', '#', '$', '%', '^', '&', '*', '('];
    let digit = letter.to_digit(10).and_then(|it| usize::try_from(it).ok());
    let sign = digit.and_then(|it| digits.get(it)).copied();
    sign.unwrap_or(letter.to_ascii_uppercase())
}

impl Tab {
    /// Presses a key and lets it go.
    pub(crate) async fn strike(&self, stroke: &Stroke) -> Result<(), Error> {
        let down = if stroke.text.is_some() {
            "keyDown"
        } else {
            "rawKeyDown"
        };
        self.ask(&stroke.command(down)).await?;
        self.ask(&stroke.command("keyUp")).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stroke(key: &str, held: &[&str]) -> Result<Stroke, KeyError> {
        let held: Vec<String> = held.iter().map(|it| (*it).to_owned()).collect();
        Stroke::new(key, &held)
    }

    #[test]
    fn keys_of_the_browser_itself_are_not_pressed() {
        for (key, held) in [
            ("w", vec!["Control"]),
            ("W", vec!["Meta"]),
            ("q", vec!["Control"]),
            ("q", vec!["Meta", "Shift"]),
            ("i", vec!["Control", "Shift"]),
            ("J", vec!["Meta", "Shift"]),
            ("Delete", vec!["Control", "Shift"]),
        ] {
            assert_eq!(stroke(key, &held), Err(KeyError::Refused), "{key} {held:?}");
        }
    }

    #[test]
    fn the_clipboard_that_all_sessions_share_is_not_used() {
        for (key, held) in [
            ("c", vec!["Control"]),
            ("X", vec!["Meta"]),
            ("v", vec!["Control"]),
            ("v", vec!["Control", "Shift"]),
            ("Delete", vec!["Shift"]),
        ] {
            let pressed = stroke(key, &held);
            assert_eq!(pressed, Err(KeyError::Clipboard), "{key} {held:?}");
        }
        assert!(stroke("Delete", &[]).is_ok() && stroke("c", &["Alt"]).is_ok());
    }

    #[test]
    fn only_keys_are_pressed() {
        assert_eq!(stroke("Enter", &[]).unwrap().number, 13);
        assert_eq!(
            stroke("a", &["Control"]).unwrap().edits(),
            Some(vec!["selectAll"])
        );
        assert_eq!(stroke("i", &["Control"]).unwrap().code, "KeyI");
        let shifted = stroke("4", &["Shift"]).unwrap();
        assert_eq!(
            (shifted.text.as_deref(), shifted.code.as_str()),
            (Some("$"), "Digit4")
        );
        for (key, held) in [
            ("a", vec![]),
            ("F5", vec![]),
            ("", vec![]),
            ("é", vec!["Alt"]),
            ("a", vec!["Hyper"]),
        ] {
            assert!(
                matches!(stroke(key, &held), Err(KeyError::Unknown(_))),
                "{key}"
            );
        }
    }
}
