//! What a parser would do with a page, tried with the parser itself and without keeping a tree.
//!
//! A page can be written so that building its tree costs the square of its length: by nesting, by elements that are opened
//! again for every paragraph, by ends that are looked for in vain. No reading of the bytes alone tells all of it, because what
//! a tag does depends on what is open. So the parser that will build the tree runs first into a sink that keeps nothing but
//! counts. It is fed in pieces and left as soon as a count is too high; what one piece can add is bounded by its length.

use std::{borrow::Cow, cell::Cell, rc::Rc};

use html5ever::{
    Attribute, ParseOpts, QualName, parse_document,
    tendril::{StrTendril, TendrilSink},
    tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink},
};

/// How much the parser is given at a time.
const PIECE: usize = 4096;
/// With no more beginnings and tags than this nothing can grow beyond the bounds, as both depth and the number of elements
/// that are opened again come from beginnings. Those of [`NEVER_OPEN`] do not count.
const FEW_BEGINNINGS: usize = 1000;
const FEW_TAGS: usize = 4000;

/// Elements that hold nothing, and that end foreign content instead of standing in it; so none of them is ever open.
const NEVER_OPEN: &[&[u8]] = &[b"br", b"hr", b"img", b"meta"];

/// What building a tree may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// How many elements are open at a time.
    pub(super) open: usize,
    /// How many elements there are in all.
    pub(super) elements: usize,
    /// How often the parser looks at an element that is open.
    pub(super) looks: usize,
}

/// Whether the tree of a page can be built within bounds.
pub(super) fn fits(html: &str, bounds: Bounds) -> bool {
    if is_small(html) {
        return true;
    }
    let counts = Rc::new(Counts::default());
    let sink = Sink {
        document: Node::new(&counts, None, false),
        counts: Rc::clone(&counts),
    };
    // As the tree will be built.
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(sink, options);
    let mut at = 0;
    while at < html.len() {
        let end = html.floor_char_boundary((at + PIECE).min(html.len()));
        parser.process(StrTendril::from_slice(&html[at..end]));
        at = end;
        if counts.open.get() > bounds.open
            || counts.elements.get() > bounds.elements
            || counts.looks.get() > bounds.looks
        {
            return false;
        }
    }
    true
}

fn is_small(html: &str) -> bool {
    let bytes = html.as_bytes();
    let (mut tags, mut beginnings) = (0, 0);
    for at in memchr::memchr_iter(b'<', bytes) {
        tags += 1;
        let rest = &bytes[at + 1..];
        beginnings +=
            usize::from(rest.first().is_some_and(u8::is_ascii_alphabetic) && !is_void(rest));
    }
    tags <= FEW_TAGS && beginnings <= FEW_BEGINNINGS
}

fn is_void(rest: &[u8]) -> bool {
    NEVER_OPEN.iter().any(|name| {
        let is_named = rest
            .get(..name.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(name));
        let after = rest.get(name.len());
        is_named
            && after.is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))
    })
}

#[derive(Debug, Default)]
struct Counts {
    open: Cell<usize>,
    elements: Cell<usize>,
    looks: Cell<usize>,
}

fn add(count: &Cell<usize>) {
    count.set(count.get() + 1);
}

/// An element for as long as the parser holds it: while it is open, or may be opened again.
#[derive(Debug)]
struct Held {
    name: QualName,
    is_integration_point: bool,
    counts: Rc<Counts>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.counts.open.set(self.counts.open.get() - 1);
    }
}

#[derive(Debug, Clone)]
struct Node(Rc<Held>);

impl Node {
    fn new(counts: &Rc<Counts>, name: Option<QualName>, is_integration_point: bool) -> Self {
        add(&counts.open);
        let nameless = || QualName::new(None, html5ever::ns!(), html5ever::local_name!(""));
        Self(Rc::new(Held {
            name: name.unwrap_or_else(nameless),
            is_integration_point,
            counts: Rc::clone(counts),
        }))
    }
}

struct Sink {
    document: Node,
    counts: Rc<Counts>,
}

impl TreeSink for Sink {
    type Handle = Node;
    type Output = ();
    type ElemName<'a> = &'a QualName;

    fn finish(self) {}

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Node {
        self.document.clone()
    }

    fn elem_name<'a>(&'a self, target: &'a Node) -> &'a QualName {
        add(&self.counts.looks);
        &target.0.name
    }

    fn create_element(&self, name: QualName, _: Vec<Attribute>, flags: ElementFlags) -> Node {
        add(&self.counts.elements);
        let is_integration_point = flags.mathml_annotation_xml_integration_point;
        Node::new(&self.counts, Some(name), is_integration_point)
    }

    fn create_comment(&self, _: StrTendril) -> Node {
        Node::new(&self.counts, None, false)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Node {
        Node::new(&self.counts, None, false)
    }

    fn append(&self, _: &Node, _: NodeOrText<Node>) {}

    fn append_based_on_parent_node(&self, _: &Node, _: &Node, _: NodeOrText<Node>) {}

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, _: &Node) -> Node {
        Node::new(&self.counts, None, false)
    }

    fn same_node(&self, one: &Node, other: &Node) -> bool {
        add(&self.counts.looks);
        Rc::ptr_eq(&one.0, &other.0)
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, _: &Node, _: NodeOrText<Node>) {}

    fn add_attrs_if_missing(&self, _: &Node, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, _: &Node) {}

    fn reparent_children(&self, _: &Node, _: &Node) {}

    fn is_mathml_annotation_xml_integration_point(&self, node: &Node) -> bool {
        node.0.is_integration_point
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        open: 1000,
        elements: 100_000,
        looks: 10_000_000,
    };

    fn is_fine(html: &str) -> bool {
        fits(html, BOUNDS)
    }

    #[test]
    fn what_people_write_fits_however_carelessly() {
        for html in [
            "<div><p>a<span>b</div>".repeat(5000),
            "<table><tr><td><font>a<td>b<tr><td>c</table>".repeat(2000),
            "<ul><li>a<li><b>b</b></ul>".repeat(5000),
            "<svg><title>a</title><style>b</style><!-- c --></svg>".repeat(2000),
            "<script>'<div><div>'</script><noscript><img></noscript>".repeat(2000),
            format!("{}a{}", "<div>".repeat(900), "</div>".repeat(900)),
        ] {
            assert!(is_fine(&html), "{}", &html[..60]);
        }
    }

    #[test]
    fn what_grows_without_bound_does_not_fit() {
        let named: String = (0..900).map(|number| format!("<b a{number}>")).collect();
        for html in [
            "<div>".repeat(2000),
            "<div></x>".repeat(2000),
            "<rt>".repeat(2000),
            "<span><div></span>".repeat(2000),
            format!("<svg>{}", "<tr>".repeat(2000)),
            format!("<svg>{}", "<source>".repeat(2000)),
            format!("<xmp><!--</xmp>{}-->", "<div>".repeat(2000)),
            format!("<svg><p><script><!--</script>{}-->", "<div>".repeat(2000)),
            format!("<p>{named}{}", "<p>a".repeat(2000)),
            format!("{}{}", "<span>".repeat(900), "</x>".repeat(100_000)),
        ] {
            assert!(!is_fine(&html), "{}", &html[..60]);
        }
    }

    #[test]
    fn what_is_never_open_makes_no_page_large() {
        assert!(is_small(&"<BR>text<img src=x><hr/>".repeat(1000)));
        for name in ["b", "image", "brr", "metas"] {
            assert!(!is_small(&format!("<{name}>").repeat(1001)), "{name}");
        }
        assert!(!is_small(&"<br>".repeat(4001)));
    }
}
