//! How a kind of secret is written down in the catalog.

/// A documented form of one kind of secret or personal data.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// The rule that has to find it.
    pub(crate) rule: &'static str,
    /// The form, in the notation of [`grammar`].
    pub(crate) form: &'static str,
    /// Forms that look similar and are no secret.
    pub(crate) look_alikes: &'static [&'static str],
}

/// Shorthand for the tables of the catalog.
pub(crate) const fn format(
    rule: &'static str,
    form: &'static str,
    look_alikes: &'static [&'static str],
) -> Format {
    Format {
        rule,
        form,
        look_alikes,
    }
}
