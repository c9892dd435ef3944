//! Conditions, as an author reads them: what shows an option and what hides it.

use std::sync::Arc;

use tollgate_knowledge::{Format, Library, load_text};

/// Whether a condition holds after these answers, given in the order of the slots; an empty
/// one is not asked for.
fn holds(condition: &str, answers: [&str; 6]) -> bool {
    let names = ["paid", "measured", "line", "since", "until", "wired"];
    let mut nodes = String::new();
    let asked: Vec<(usize, &&str)> = (0..)
        .zip(&answers)
        .filter(|(_, said)| !said.is_empty())
        .collect();
    for (place, (slot, _)) in asked.iter().enumerate() {
        let next = match asked.get(place + 1) {
            Some((next, _)) => format!("ask_{}", names[*next]),
            None => "end".to_owned(),
        };
        let name = names[*slot];
        nodes.push_str(&format!(
            "  ask_{name}: {{ response: \"?\", ask: {name}, next_node: {next} }}\n"
        ));
    }
    let first = asked.first().map_or("end".to_owned(), |(slot, _)| {
        format!("ask_{}", names[*slot])
    });
    let text = format!(
        "fallback: f
slots:
  paid: {{ type: number, unit: Mbps }}
  measured: {{ type: number, unit: Mbps }}
  line: {{ type: choice, choices: [{{ id: fiber }}, {{ id: dsl }}, {{ id: cable }}] }}
  since: {{ type: date }}
  until: {{ type: date }}
  wired: {{ type: yes_no }}
nodes:
  root: {{ response: hi, options: [{{ id: go, next_node: {first} }}] }}
{nodes}  other: {{ response: other }}
  end:
    response: here
    options:
      - {{ id: shown, when: \"{condition}\", next_node: null }}
      - {{ id: always, next_node: other }}
"
    );
    let base = load_text("k", &text, Format::Yaml);
    let base = base.unwrap_or_else(|problems| panic!("{condition}: {problems:?}"));
    let library = Library::new(vec![Arc::new(base)]);
    let (session, _) = library.start("zzzz").unwrap();
    let (mut session, mut view) = library.step(&session, "go", None).unwrap();
    for (_, said) in asked {
        (session, view) = library
            .step(&session, "provide_more_info", Some(said))
            .unwrap();
    }
    assert_eq!(session.node, "end", "{condition} {answers:?}");
    view.options.iter().any(|option| option.id == "shown")
}

#[test]
fn conditions_hold_as_they_read() {
    let all = ["100", "60", "fiber", "2026-03-01", "2026-05-31", "yes"];
    for condition in [
        "paid == 100",
        "paid != 99",
        "paid > 99 and paid >= 100",
        "measured < 61 and measured <= 60",
        "line == fiber",
        "line != dsl",
        "line in [dsl, fiber]",
        "wired",
        "wired == yes",
        "since < 2026-03-02",
        "until >= since",
        "until == 2026-05-31",
        "known(paid)",
        "visited(root)",
        "not visited(other)",
        "measured < paid",
        "measured < paid * 0.7 - 5",
        "measured == paid * 0.5 + 10",
        "paid == 1 or paid == 100",
        "(paid == 1 or paid == 100) and line == fiber",
        "paid == 1 and line == dsl or wired",
        "not (paid == 1)",
        "not paid == 1",
    ] {
        assert!(holds(condition, all), "{condition}");
        let negated = format!("not ({condition})");
        assert!(!holds(&negated, all), "{negated}");
    }
    for condition in [
        "paid > 100",
        "paid < 100",
        "measured >= 61",
        "line in [dsl, cable]",
        "since > until",
        "measured < paid * 0.7 - 10",
        "visited(other)",
        "paid == 1 and (line == fiber or wired)",
    ] {
        assert!(!holds(condition, all), "{condition}");
    }
}

#[test]
fn what_was_not_answered_fits_no_comparison() {
    let none = [""; 6];
    for condition in [
        "paid == 0",
        "paid < 5",
        "paid >= 0",
        "line == dsl",
        "line in [fiber, dsl, cable]",
        "wired",
        "known(paid)",
        "until >= since",
    ] {
        assert!(!holds(condition, none), "{condition}");
    }
    assert!(holds("not known(paid)", none));
    // With one of two answers a comparison of both does not hold either.
    assert!(!holds("measured < paid", ["100", "", "", "", "", ""]));
    assert!(!holds("measured < paid * 2", ["100", "", "", "", "", ""]));
    assert!(holds("measured < paid", ["100", "60", "", "", "", ""]));
}
