//! The templates inside the program: the same files a user could write.

use tollgate_runs::BuiltIn;

macro_rules! templates {
    ($($name:literal,)*) => {
        &[$(BuiltIn {
            file: concat!("templates/", $name, ".yaml"),
            text: include_str!(concat!("../templates/", $name, ".yaml")),
        },)*]
    };
}

/// Every template of the program. To add one: its file, and its line here.
pub(crate) const BUILT_IN: &[BuiltIn] = templates! {
    "batch_extract_pages",
    "edit_docs",
    "login_keep_session",
    "multi_tab_compare",
    "paginated_extract",
    "research_report",
    "run_code_snippet",
    "search_extract",
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
