//! The templates inside the program: the same files a user could write.

use tollgate_runs::BuiltIn;

macro_rules! templates {
    ($($name:literal of $provider:literal,)*) => {
        &[$(BuiltIn {
            file: concat!("templates/", $name, ".yaml"),
            text: include_str!(concat!("../templates/", $name, ".yaml")),
            provider: $provider,
        },)*]
    };
}

/// Every template of the program. To add one: its file, and its line here with the
/// provider without whose tools it cannot run.
pub(crate) const BUILT_IN: &[BuiltIn] = templates! {
    "batch_extract_pages" of "web",
    "edit_docs" of "docs",
    "login_keep_session" of "browser",
    "multi_tab_compare" of "browser",
    "paginated_extract" of "browser",
    "research_report" of "web",
    "run_code_snippet" of "sandbox",
    "search_extract" of "web",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_of_the_program_can_be_read() {
        let mut shelf = tollgate_runs::Shelf::checked_by(tollgate_engine::runs::check_template);
        for built_in in BUILT_IN {
            shelf.add(built_in.file, built_in.text);
        }
        assert_eq!(shelf.problems, []);
        assert_eq!(shelf.all().count(), BUILT_IN.len());
    }
}
