//! How a caller's client is shown results.
//!
//! Clients validate structured content against the schema they were listed, and some hand a
//! model only one part of a result. Invariant: what is listed, described and sent follows from
//! the same [`ResultView`].

use crate::{call::Shape, spec::ToolSpec};

/// The object a client is given as the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultForm {
    /// The tool's own object; the rest of the envelope stands beside it.
    Native,
    /// The envelope around the tool's own object.
    Envelope,
}

impl ResultForm {
    /// The form as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Envelope => "envelope",
        }
    }
}

/// Which form of a result a client is shown, and in which parts of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResultView {
    /// The object.
    pub form: ResultForm,
    /// Whether it is sent as text alone, because the client would otherwise drop the text and
    /// everything beside it.
    pub content_only: bool,
}

impl ResultView {
    /// The whole envelope: the command line and JSONL.
    pub const ENVELOPE: Self = Self {
        form: ResultForm::Envelope,
        content_only: false,
    };
    /// The tool's own object, as text and structured.
    pub const NATIVE: Self = Self {
        form: ResultForm::Native,
        content_only: false,
    };

    /// How this client is shown the results of one tool.
    #[must_use]
    pub fn of_tool(self, spec: &ToolSpec) -> Self {
        self.of_result(spec.shape, spec.service_command.is_some())
    }

    /// The same for a result of this shape; commands of a service answer in the envelope.
    #[must_use]
    pub fn of_result(self, shape: Shape, is_command: bool) -> Self {
        if is_command || shape == Shape::Wrapped {
            return Self {
                form: ResultForm::Envelope,
                ..self
            };
        }
        // Another server's text may be a summary of its structured content: both are passed on.
        let is_passed_on = shape == Shape::Native && self.form == ResultForm::Native;
        Self {
            content_only: self.content_only && !is_passed_on,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_decides_the_form_and_a_client_the_parts() {
        let text = ResultView {
            content_only: true,
            ..ResultView::NATIVE
        };
        for (client, shape, is_command, form, content_only) in [
            (
                ResultView::NATIVE,
                Shape::Data,
                false,
                ResultForm::Native,
                false,
            ),
            (
                ResultView::NATIVE,
                Shape::Data,
                true,
                ResultForm::Envelope,
                false,
            ),
            (
                ResultView::NATIVE,
                Shape::Native,
                false,
                ResultForm::Native,
                false,
            ),
            (
                ResultView::NATIVE,
                Shape::Wrapped,
                false,
                ResultForm::Envelope,
                false,
            ),
            (
                ResultView::ENVELOPE,
                Shape::Native,
                false,
                ResultForm::Envelope,
                false,
            ),
            (text, Shape::Data, false, ResultForm::Native, true),
            (text, Shape::Data, true, ResultForm::Envelope, true),
            (text, Shape::Native, false, ResultForm::Native, false),
            (text, Shape::Wrapped, false, ResultForm::Envelope, true),
        ] {
            let view = client.of_result(shape, is_command);
            let wanted = ResultView { form, content_only };
            assert_eq!(view, wanted, "{client:?} {shape:?} {is_command}");
        }
    }
}
