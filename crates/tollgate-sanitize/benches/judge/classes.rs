//! Recall and precision by class, on values generated from the published form of each kind of secret.
//!
//! The generators are those of `tests/formats`, which never read a rule's pattern; the rules were written beside them,
//! so these figures say what is covered, and a set from elsewhere says how much of the world that is.

use std::collections::BTreeSet;

use tollgate_sanitize::{Sanitizer, Scope};

use crate::formats::catalog::groups;
use crate::formats::evasive::{CLASSES, tally};
use crate::formats::personal::PERSONAL;
use crate::formats::{Format, Random, generate};

const EACH: usize = 300;
const LOOK_ALIKES: usize = 40;

pub(crate) fn print() {
    println!("generated from published formats, {EACH} of each");
    for (name, formats) in groups() {
        secrets(name, formats);
    }
    let (mut all, mut found) = (0, 0);
    for kind in PERSONAL {
        let mut random = Random::named(kind.rule);
        for _ in 0..EACH {
            let (text, value) = (kind.make)(&mut random);
            all += 1;
            found += usize::from(!clean(&text).contains(&value));
        }
    }
    println!("{:<30} recall {}", "personal data", share(found, all));
    println!("evasive forms of all of these");
    let (mut every, mut seen) = (0, 0);
    for (name, hide, _) in CLASSES {
        let (all, found) = tally(name, *hide);
        (every, seen) = (every + all as usize, seen + found as usize);
        println!("{name:<30} recall {}", share(found as usize, all as usize));
    }
    println!(
        "{:<30} recall {}\n",
        "all evasive forms",
        share(seen, every)
    );
}

fn clean(text: &str) -> String {
    let cleaned = Sanitizer::shipped().text(text, &Scope::trusted());
    cleaned.text.into_owned()
}

fn secrets(name: &str, formats: &[Format]) {
    let (mut all, mut found, mut kept, mut changed) = (0, 0, 0, 0);
    for format in formats {
        let mut random = Random::named(format.form);
        for _ in 0..EACH {
            let value = generate(format.form, &mut random);
            let cleaned = clean(&value.text);
            let middle = &value.secret[value.secret.len() / 4..];
            all += 1;
            found += usize::from(!cleaned.contains(middle));
        }
        for form in format.look_alikes {
            let mut random = Random::named(form);
            for _ in 0..LOOK_ALIKES {
                let value = generate(form, &mut random).text;
                let is_kept = clean(&value) == value;
                kept += usize::from(is_kept);
                changed += usize::from(!is_kept);
            }
        }
    }
    let rules: BTreeSet<&str> = formats.iter().map(|format| format.rule).collect();
    println!(
        "{name:<30} recall {}   look-alikes left {}   ({} formats of {} rules)",
        share(found, all),
        share(kept, kept + changed),
        formats.len(),
        rules.len()
    );
}

fn share(part: usize, of: usize) -> String {
    format!("{:.3} of {of:>6}", part as f64 / of.max(1) as f64)
}
