//! What every rule has to find, and what it has to leave alone.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_sanitize::{Sanitizer, Scope};

use super::{Random, catalog, generate, personal::PERSONAL};

/// Generated values for each format.
const POSITIVES: usize = 300;
/// Generated values for each look-alike.
const LOOK_ALIKES: usize = 40;

/// Places a value turns up in; none of them says that a secret follows.
const PLACES: &[&str] = &[
    "{}",
    "the value is {} as printed",
    "VALUE={}",
    "{\"value\":\"{}\"}",
    "value: {}\n",
    "`{}`",
    "[2031-05-27T10:00:00Z] INFO sent {} to peer",
    "print('{}')",
];

fn place(random: &mut Random, value: &str) -> String {
    random.pick(PLACES).replace("{}", value)
}

fn clean(text: &str) -> String {
    Sanitizer::shipped()
        .text(text, &Scope::trusted())
        .text
        .into_owned()
}

/// Whether the longest run of letters and digits of a secret is still there, or most of it.
fn is_left(cleaned: &str, secret: &str) -> bool {
    let runs = secret.split(|c: char| !c.is_ascii_alphanumeric());
    let core = runs.max_by_key(|run| run.len()).unwrap_or(secret);
    cleaned.contains(&core[core.len() / 4..])
}

fn report(missed: &BTreeMap<String, Vec<String>>) {
    let lines: Vec<String> = missed
        .iter()
        .map(|(rule, texts)| format!("{rule}: {} missed, such as {:?}", texts.len(), texts[0]))
        .collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn every_rule_finds_what_its_issuer_documents() {
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for format in catalog::all() {
        let mut random = Random::named(format.form);
        for _ in 0..POSITIVES {
            let value = generate(format.form, &mut random);
            let text = place(&mut random, &value.text);
            if is_left(&clean(&text), &value.secret) {
                missed
                    .entry(format!("{} {}", format.rule, format.form))
                    .or_default()
                    .push(text);
            }
        }
    }
    // Beside a name or a common word a value is told by its letters, and a random one may read like words.
    let is_by_chance =
        |rule: &str| rule.starts_with("named-secret ") || rule.starts_with("environment-token ");
    missed.retain(|rule, texts| !is_by_chance(rule) || texts.len() > POSITIVES / 50);
    report(&missed);
}

#[test]
fn look_alikes_stay() {
    let mut changed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for format in catalog::all() {
        for form in format.look_alikes {
            let mut random = Random::named(form);
            for _ in 0..LOOK_ALIKES {
                let value = generate(form, &mut random).text;
                let text = place(&mut random, &value);
                let cleaned = clean(&text);
                if cleaned != text {
                    changed
                        .entry(format!("{} {form}", format.rule))
                        .or_default()
                        .push(cleaned);
                }
            }
        }
    }
    report(&changed);
}

#[test]
fn personal_numbers_go() {
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in PERSONAL {
        let mut random = Random::named(kind.rule);
        for _ in 0..POSITIVES {
            let (text, value) = (kind.make)(&mut random);
            let cleaned = clean(&text);
            if cleaned.contains(&value) || !cleaned.contains("[REDACTED:") {
                missed.entry(kind.rule.to_owned()).or_default().push(text);
            }
        }
    }
    report(&missed);
}

#[test]
fn every_rule_has_generated_values() {
    let shipped: BTreeSet<String> = Sanitizer::shipped().rule_ids().map(str::to_owned).collect();
    let known: BTreeSet<String> = catalog::all()
        .iter()
        .map(|format| format.rule.to_owned())
        .chain(PERSONAL.iter().map(|kind| kind.rule.to_owned()))
        .collect();
    let without: Vec<String> = shipped.difference(&known).cloned().collect();
    assert!(without.is_empty(), "rules without a generator: {without:?}");
    let unknown: Vec<String> = known.difference(&shipped).cloned().collect();
    assert!(unknown.is_empty(), "generators without a rule: {unknown:?}");
}

/// What people and programs call things; none of it is a secret or a person's.
const ORDINARY: &[&str] = &[
    "P/N {digit:4}-L{digit:2}-{digit:1}A{digit:2}",
    "MPN GRM188R71H{digit:3}KA{digit:2}D",
    "Part No. {digit:4}-{digit:4}-{digit:4}",
    "part key: {digit:4}-{digit:7}PA",
    "model key {B36:8}",
    "SKU: AB{digit:2}-CD{digit:2}-EF{digit:2}-{digit:4}",
    "serial number 5CG{digit:4}XYZ",
    "order {digit:3}-{digit:7}-{digit:7}",
    "class=\"sk-folding-cube-container{digit:1} sk-{words:2}\"",
    ".sk-circle-fade-dot{digit:1}, .sk-circle-fade:before",
    "fc-daygrid-event-harness-{digit:2}",
    "btn_key_{words:3}_{digit:2}",
    "tooltip-token-list-item-{digit:3}",
    "aria-labelledby=\"password-field-label-{digit:2}\"",
    "sha256:{hex:64}",
    "integrity sha512-{b64:86}==",
    "commit {hex:40}",
    "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}",
    "ETag: \"{hex:32}\"",
    "arn:aws:iam::{digit:12}:role/{words:2}",
    "data:image/png;base64,iVBORw0KGgo{b64:120}",
    "https://cdn.example/{words:2}-{hex:20}.min.js",
    "/usr/lib/{words:2}/{words:3}/{words:2}.so",
    "B0{B36:8}",
    "EAN 40{digit:11}",
    "v{digit:1}.{digit:2}.{digit:1}-rc{digit:1}+build.{digit:4}",
    "2031-05-27T10:{digit:2}:{digit:2}.{digit:6}Z",
    "{digit:2}.{digit:6},{digit:3}.{digit:6}",
    "passport.js {digit:1}.{digit:1}.{digit:1} authenticates requests",
    "a b c d e f g h i j k l m n o p",
    "0 1 0 1 1 0 1 0 0 1 1 0 1 0 1 1",
    // Stand-ins of documentation.
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "github_pat_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
    "AKIAIOSFODNN7EXAMPLE",
    "AKIAI44QH8DHBEXAMPLE",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "sk_live_00000000000000000000000000",
    "token: glpat-xxxxxxxxxxxxxxxxxxxx",
    "xoxb-xxxxxxxxxxxx-xxxxxxxxxxxxx-xxxxxxxxxxxxxxxxxxxxxxxx",
];

#[test]
fn ordinary_names_and_numbers_stay() {
    let mut changed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for form in ORDINARY {
        let mut random = Random::named(form);
        for _ in 0..LOOK_ALIKES {
            let value = generate(form, &mut random).text;
            let text = place(&mut random, &value);
            let cleaned = clean(&text);
            if cleaned != text {
                changed.entry((*form).to_owned()).or_default().push(cleaned);
            }
        }
    }
    report(&changed);
}
