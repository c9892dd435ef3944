//! The examples of `docs/knowledge.md` can be used as they are.

use tollgate_knowledge::{Format, ProblemCode, lint, load_text};

const PAGE: &str = include_str!("../../../../docs/knowledge.md");

#[test]
fn every_example_loads_and_has_no_errors() {
    let mut seen = 0;
    for (mark, format) in [
        ("```json\n", Format::Json),
        ("```yaml\n", Format::Yaml),
        ("```xml\n", Format::Xml),
    ] {
        for block in PAGE.split(mark).skip(1) {
            let text = block.split("```").next().unwrap_or_default();
            if text.starts_with("conversations:") {
                continue;
            }
            let base = load_text("example", text, format).unwrap();
            let found = lint(&base);
            let errors: Vec<_> = found
                .iter()
                .filter(|one| ![ProblemCode::NoFallback, ProblemCode::NoChoose].contains(&one.code))
                .collect();
            assert!(errors.is_empty(), "{errors:?}");
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}
