//! Tells requests and tools that read from those that act: somebody who wants to see a task is not looking for the tool
//! that deletes it. Verbs that may be either belong to neither list, and who says neither is never held back.

use super::Document;
use super::english;
use super::question::{self, Kind, Token};
use super::text::{self, Piece, Style};
use std::collections::HashMap;
use std::sync::LazyLock;

/// How many words of a tool's name are read for its verb; providers put theirs in front.
const NAME_WORDS: usize = 4;
/// How many words of a description are read where the name has no verb.
const DESCRIPTION_WORDS: usize = 2;

/// Where these words are looked for, so that a long text is not read to its end.
const FIRST_CHARS: usize = 80;

/// What is done: something is looked at, something is made or changed, both, or nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Action {
    reads: bool,
    acts: bool,
}

impl Action {
    const READS: Self = Self {
        reads: true,
        acts: false,
    };
    const ACTS: Self = Self {
        reads: false,
        acts: true,
    };

    /// What a tool does, by the first verb of its name, or else by the one its description begins with.
    pub(super) fn of_tool(document: &Document) -> Self {
        let by_name = first_verb(&document.name, Style::Identifier, NAME_WORDS);
        by_name
            .or_else(|| first_verb(&document.description, Style::Prose, DESCRIPTION_WORDS))
            .unwrap_or_default()
    }

    /// What a request wants done, by the verbs it begins with; a question asks to be told. Of several clauses each may
    /// want something else, so they want nothing together.
    pub(super) fn of_request(tokens: &[Token]) -> Self {
        let mut wanted = Self::default();
        if !question::is_one_clause(tokens) {
            return wanted;
        }
        // Whether the next word that counts stands where the verb does.
        let mut is_open = true;
        for token in tokens {
            match token.kind {
                Kind::Stop if token.text == "to" => is_open = true,
                Kind::Stop if matches!(token.text.as_str(), "a" | "an" | "the") => is_open = false,
                Kind::Stop if is_open && asks(&token.text) => {
                    wanted.add(Self::READS);
                    is_open = false;
                }
                Kind::Word | Kind::Light => {
                    if is_open && let Some(action) = verb(&token.stem) {
                        wanted.add(action);
                    }
                    is_open = false;
                }
                Kind::Ideographs => {
                    text::pairs(&token.text, |pair| {
                        wanted.add(verb(pair).unwrap_or_default());
                    });
                }
                Kind::Stop | Kind::Argument => {}
            }
        }
        wanted
    }

    /// Whether one only looks and the other only acts.
    pub(super) fn is_opposed_to(self, other: Self) -> bool {
        (self == Self::READS && other == Self::ACTS) || (self == Self::ACTS && other == Self::READS)
    }

    fn add(&mut self, other: Self) {
        self.reads |= other.reads;
        self.acts |= other.acts;
    }
}

/// The first verb among the first words of a text.
fn first_verb(text: &str, style: Style, mut words: usize) -> Option<Action> {
    let mut found = None;
    let start = text::first_chars(text, FIRST_CHARS);
    text::pieces(start, style, &mut |piece| {
        if found.is_some() || words == 0 {
            return;
        }
        match piece {
            Piece::Word(word) => found = verb(&english::stem(word)),
            Piece::Ideographs(run) => found = verb(text::first_chars(run, 2)),
            Piece::Break => return,
        }
        words -= 1;
    });
    found
}

fn asks(word: &str) -> bool {
    QUESTION_WORDS.split_whitespace().any(|known| known == word)
}

/// What a stemmed verb, or a Chinese one of two characters, says is done.
fn verb(stem: &str) -> Option<Action> {
    static VERBS: LazyLock<HashMap<String, Action>> = LazyLock::new(|| {
        let lists = [(READING, Action::READS), (ACTING, Action::ACTS)];
        let each = lists.iter().flat_map(|(words, action)| {
            let stems = words.split_whitespace().map(english::stem);
            stems.map(|stem| (stem.into_owned(), *action))
        });
        each.collect()
    });
    VERBS.get(stem).copied()
}

const QUESTION_WORDS: &str = "are did does how is what when where which who whose why";

const READING: &str = "\
    analyse analyze assess browse check collect compare compute count describe detect determine discover display \
    estimate evaluate examine explain explore fetch find gather get identify inspect investigate know learn list \
    locate look lookup measure monitor observe obtain print query read recommend research retrieve review scan \
    search see show study suggest summarise summarize tell track understand validate verify view watch \
    分析 列出 搜索 查找 查看 查询 检索 获取 读取 \
";

const ACTING: &str = "\
    add adjust alter append apply attach build cancel change clear clone close compose configure copy create \
    customize delete design destroy discard draft draw drop duplicate edit encrypt erase export fill format \
    generate init insert install kill make manage modify move notify optimize paint plot post produce protect \
    publish purge push put remember remove rename replace reply reset resize save send set share sketch store \
    submit terminate uninstall unprotect unstage update upload write \
    上传 保存 修改 关闭 写入 创建 删除 发布 发送 插入 新建 更新 替换 添加 清除 生成 移动 移除 绘制 编辑 \
";
