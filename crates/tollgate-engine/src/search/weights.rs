//! The few numbers ranking depends on, in one place so that they can be measured and argued about together.

/// How much each part of a tool counts, and how matches add up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// A term in the tool's name or title.
    pub name: f32,
    /// A term in the tool's description.
    pub description: f32,
    /// A term in a parameter's name.
    pub parameter: f32,
    /// A term in a parameter's description.
    pub parameter_description: f32,
    /// A term in a toolset's name.
    pub group: f32,
    /// Where the count of a term stops to matter (`k1` of BM25).
    pub saturation: f32,
    /// How much long texts are held back (`b` of BM25).
    pub length: f32,
    /// What the provider's own name and description add to each of its tools.
    pub provider: f32,
    /// What another word for the same thing is worth.
    pub synonym: f32,
    /// What a word is worth that the query's word is usually about.
    pub association: f32,
    /// What the word of another language is worth.
    pub translation: f32,
    /// What a word cut short or misspelt is worth.
    pub fuzzy: f32,
    /// What a name made of nothing but the query's words adds.
    pub name_match: f32,
    /// How much of the score depends on the share of the query found.
    pub coverage: f32,
    /// How much a word counts as common where its synonyms are.
    pub pool: f32,
    /// What a word counts that fits almost any request.
    pub light: f32,
    /// What a word counts that tells of which kind an argument is.
    pub argument: f32,
    /// How much closer the meaning of an idiom comes than that of a word.
    pub idiom: f32,
    /// What a word counts that is part of an idiom.
    pub idiom_part: f32,
    /// How much more alternatives are worth to a word the catalogue does not use.
    pub stand_in: f32,
    /// What the question's own word says at least, wherever it is found.
    pub floor: f32,
    /// What is left of a tool that acts where the question asks to read, and the other way round.
    pub opposed: f32,
    /// What being spelled like the question adds, as a share of the best score.
    pub spelled: f32,
    /// How much a tool of a provider that the user added counts, so that it comes first at about equal rank.
    pub users: f32,
    /// What an identical name is worth after a better one.
    pub repeat: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            name: 3.0,
            description: 0.6,
            parameter: 0.5,
            parameter_description: 0.4,
            group: 1.0,
            saturation: 0.8,
            length: 0.4,
            provider: 0.5,
            synonym: 0.65,
            association: 0.45,
            translation: 0.7,
            fuzzy: 0.4,
            name_match: 0.5,
            coverage: 0.3,
            pool: 0.4,
            light: 0.55,
            argument: 0.8,
            idiom: 1.4,
            idiom_part: 0.5,
            stand_in: 1.2,
            floor: 0.4,
            opposed: 0.7,
            spelled: 0.2,
            users: 1.5,
            repeat: 0.85,
        }
    }
}
