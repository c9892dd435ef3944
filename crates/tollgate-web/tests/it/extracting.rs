//! Main texts: our own pages of the kinds people read, in English and Chinese, and pages made to do harm.

use tollgate_web::{Extracted, Method, extract};

const BASE: &str = "https://site.test/folder/page.html";

/// A page with all that surrounds a text.
fn page(lang: &str, head: &str, main: &str) -> String {
    format!(
        "<!doctype html><html lang=\"{lang}\"><head><meta charset=utf-8>{head}<script>var x='<p>script text</p>';</script>\
         <style>p {{ color: red }}</style></head><body><header><nav><ul><li><a href=/>Home</a></li><li><a href=/shop>Shop</a></li>\
         </ul></nav></header>{main}<aside class=sidebar><h3>Most read</h3><ul><li><a href=/1>Another story</a></li></ul></aside>\
         <div class=\"cookie-banner\">We value your privacy. <button>Accept all</button></div>\
         <footer>Copyright. All rights reserved. <a href=/imprint>Imprint</a></footer></body></html>"
    )
}

fn read(html: &str) -> Extracted {
    extract(html, Some(BASE))
}

fn is_clean(found: &Extracted) {
    for noise in [
        "script text",
        "color: red",
        "Accept all",
        "All rights reserved",
        "Most read",
    ] {
        assert!(!found.text.contains(noise), "{noise} in {}", found.text);
        assert!(
            !found.markdown.contains(noise),
            "{noise} in {}",
            found.markdown
        );
    }
}

#[test]
fn a_news_story() {
    let long = "The council met on Tuesday evening, and after a long debate, it agreed to reopen the old harbour for small boats. ".repeat(3);
    let html = page(
        "en",
        "<title>Harbour to reopen | The Shore Post</title><meta property=og:title content=\"Harbour to reopen\">\
         <meta name=author content=\"The news desk\"><meta property=article:published_time content=2026-03-01T08:00:00Z>\
         <meta property=og:site_name content=\"The Shore Post\">",
        &format!(
            "<article><h1>Harbour to reopen</h1><p>{long}</p><h2>What changes</h2><p>{long}</p><blockquote><p>{long}</p></blockquote>\
             <p>More in <a href=\"../plan.html\">the <em>plan</em></a>.</p><ol><li>First, the pier.</li><li>Then, the <b>light</b>.</li></ol></article>"
        ),
    );
    let found = read(&html);
    is_clean(&found);
    assert_eq!(found.method, Method::Readability);
    assert_eq!(found.title.as_deref(), Some("Harbour to reopen"));
    assert_eq!(found.byline.as_deref(), Some("The news desk"));
    assert_eq!(found.published.as_deref(), Some("2026-03-01T08:00:00Z"));
    assert_eq!(found.site.as_deref(), Some("The Shore Post"));
    assert_eq!(found.language.as_deref(), Some("en"));
    assert!(
        found.markdown.contains("## What changes\n\nThe council"),
        "{}",
        found.markdown
    );
    assert!(found.markdown.contains("> The council met"));
    assert!(
        found
            .markdown
            .contains("More in [the *plan*](https://site.test/plan.html)."),
        "{}",
        found.markdown
    );
    assert!(
        found
            .markdown
            .contains("1. First, the pier.\n2. Then, the **light**."),
        "{}",
        found.markdown
    );
    assert_eq!(found.links[0].url, "https://site.test/plan.html");
    assert_eq!(found.links[0].text, "the plan");
}

#[test]
fn a_page_of_documentation() {
    let words = "This function opens a file, reads it line by line, and closes it again when the last line has been read. ".repeat(3);
    let html = page(
        "en",
        "<title>open - Reference</title>",
        &format!(
            "<main><h1>open</h1><p>{words}</p><pre><code>let file = open(\"a &lt; b\");\n    read(file);\n</code></pre>\
             <p>{words}</p><table><thead><tr><th>Flag</th><th>Meaning</th></tr></thead><tbody><tr><td><code>r</code></td><td>read | look</td></tr>\
             <tr><td>w</td><td>write</td></tr></tbody></table><p>Use <code>a_b*c</code>, not *stars* or [brackets]. {words}</p></main>"
        ),
    );
    let found = read(&html);
    is_clean(&found);
    assert!(
        found
            .markdown
            .contains("```\nlet file = open(\"a < b\");\n    read(file);\n```"),
        "{}",
        found.markdown
    );
    assert!(
        found
            .markdown
            .contains("| Flag | Meaning |\n| --- | --- |\n| `r` | read \\| look |\n| w | write |"),
        "{}",
        found.markdown
    );
    assert_eq!(
        found.tables,
        [[["Flag", "Meaning"], ["r", "read | look"], ["w", "write"]]]
    );
    assert!(
        found
            .markdown
            .contains("Use `a_b*c`, not \\*stars\\* or \\[brackets\\]."),
        "{}",
        found.markdown
    );
    assert!(found.text.contains("Use a_b*c, not *stars* or [brackets]."));
}

#[test]
fn a_forum_thread() {
    let post = "I had the same trouble with my bicycle, and it turned out that the chain was one link too short for the big gear. ".repeat(3);
    let html = page(
        "en",
        "<title>Chain skips - Bike Forum</title>",
        &format!(
            "<div id=content class=thread><div class=post><p>{post}</p></div><div class=post><p>Second, {post}</p></div></div>"
        ),
    );
    let found = read(&html);
    is_clean(&found);
    assert!(found.text.contains("I had the same trouble") && found.text.contains("Second, I had"));
}

#[test]
fn a_chinese_story_and_product() {
    let words = "这款保温杯采用双层不锈钢材料，保温时间可以达到十二个小时，适合在办公室和户外使用，深受用户的喜爱。".repeat(4);
    let html = page(
        "",
        "<title>保温杯评测</title>",
        &format!(
            "<article><h1>保温杯评测</h1><p>{words}</p><table><tr><th>容量</th><th>价格</th></tr><tr><td>500毫升</td><td>99元</td></tr></table><p>{words}</p></article>"
        ),
    );
    let found = read(&html);
    is_clean(&found);
    assert_eq!(found.title.as_deref(), Some("保温杯评测"));
    assert_eq!(found.language.as_deref(), Some("zh"));
    assert_eq!(found.tables, [[["容量", "价格"], ["500毫升", "99元"]]]);
    assert!(found.markdown.contains("| 500毫升 | 99元 |"));
}

#[test]
fn a_page_without_a_main_part_is_read_whole() {
    let found = read(
        "<title>  Two\n words </title><body><p>Short.</p><ul><li>One<ul><li>Inner</li></ul></li><li>Two</li></ul>",
    );
    assert_eq!(found.title.as_deref(), Some("Two words"));
    assert!(found.text.contains("Short.") && found.text.contains("Inner"));
    let nothing = read("");
    assert_eq!((nothing.text.as_str(), nothing.title), ("", None));
    let script = read("<script>document.write('<p>hello</p>')</script>");
    assert_eq!(script.text, "");
}

#[test]
fn addresses_that_are_not_of_the_web_are_not_links() {
    let html = "<p>a <a href=\"javascript:alert(1)\">one</a> <a href='data:text/html,x'>two</a> <a href='/ok (1)'>three</a> \
                <img src='javascript:x' alt='four'><img src='/p.png' alt='a [picture]'></p>";
    let found = read(html);
    assert_eq!(found.links.len(), 1, "{:?}", found.links);
    assert!(
        !found.markdown.contains("javascript:"),
        "{}",
        found.markdown
    );
    assert!(
        found
            .markdown
            .contains("[three](https://site.test/ok%20%281%29)"),
        "{}",
        found.markdown
    );
    assert!(
        found
            .markdown
            .contains("![a picture](https://site.test/p.png)"),
        "{}",
        found.markdown
    );
}

#[test]
fn hostile_markup_ends_and_stays_small() {
    let deep = format!("{}deep words", "<div>".repeat(100_000));
    let tables = "<table><tr><td>".repeat(50_000) + "cell";
    let lists = "<ul><li>".repeat(50_000) + "item";
    let bold = "<b>x".repeat(100_000);
    let anchors = "<a href=/x>".repeat(50_000) + "link";
    let unclosed = "<p".repeat(100_000);
    let names: String = (0..100_000).map(|number| format!("a{number} ")).collect();
    let attributes = format!("<p {names}>words &amp; more</p>");
    let entities = "&amp;&#x110000;&nosuch;".repeat(50_000);
    let unmatched = "<div></x>".repeat(200_000) + "words";
    let drawn = format!("<svg>{}</svg>", "<tr><td><option><source>".repeat(50_000));
    let formula = format!("<math>{}", "<tr>".repeat(200_000));
    let ruby = "<rt>".repeat(200_000) + "words";
    let sought = format!("{}{}", "<span>".repeat(990), "</x>".repeat(500_000));
    let reopened: String = (0..900).map(|number| format!("<b a{number}>")).collect();
    let reopened = format!("<p>{reopened}{}", "<p>x".repeat(200_000));
    let row = |cells: usize| format!("<tr>{}</tr>", "<td>x</td>".repeat(cells));
    let wide = format!("<table>{}{}</table>", row(8000), row(1).repeat(8000));
    let spanning = "<td colspan=1000 rowspan=60000>x</td>".repeat(50);
    let spans = format!("<table><tr>{spanning}</tr>{}</table>", row(1).repeat(5000));
    let hidden_depth = format!("<xmp><!--</xmp>{}-->", "<div>".repeat(200_000));
    let hidden_names = format!("<xmp><!--</xmp><p {names}>-->");
    for html in [
        &tables,
        &lists,
        &bold,
        &anchors,
        &unclosed,
        &attributes,
        &entities,
        &formula,
        &hidden_names,
        &wide,
        &spans,
    ] {
        let found = read(html);
        assert!(found.markdown.len() <= 4 * html.len() + 1000);
    }
    for (html, text) in [
        (&deep, "deep words"),
        (&unmatched, "words"),
        (&drawn, ""),
        (&ruby, "words"),
        (&sought, ""),
        (&hidden_depth, "<!--\n\n-->"),
    ] {
        let found = read(html);
        assert_eq!(found.method, Method::Whole, "{}", &html[..40]);
        assert_eq!(found.text, text, "{}", &html[..40]);
    }
    let found = read(&reopened);
    assert_eq!(found.method, Method::Whole);
    assert!(found.markdown.len() <= 4 * reopened.len());
}

/// A page read whole: one that nests so deep is not searched for a main part.
fn whole(html: &str) -> Extracted {
    let found = read(&format!("{}{html}", "<span>".repeat(1001)));
    assert_eq!(found.method, Method::Whole);
    found
}

fn written(html: &str) -> String {
    whole(html).markdown
}

#[test]
fn lines_of_code_stay_lines() {
    let code = "```\nlet a = 1;\nlet b = 2;\nlet c = 3;\n```";
    for html in [
        "<pre>let a = 1;<br>let b = 2;<br/>let c = 3;</pre>",
        "<pre><div>let a = 1;</div><div>let b = 2;</div><div>let c = 3;</div></pre>",
        "<pre><code><span>let a = 1;</span>\nlet b = 2;\n<p>let <b>c</b> = 3;</p></code></pre>",
        "<pre><ol><li>let a = 1;<li>let b = 2;<li>let c = 3;</ol></pre>",
    ] {
        assert_eq!(written(html), code, "{html}");
    }
    assert_eq!(written("<pre>a</pre><p>b<br>c"), "```\na\n```\n\nb\nc");
}

#[test]
fn text_that_looks_like_markup_stays_text() {
    for (html, markdown) in [
        ("<p># one", "\\# one"),
        ("<p>- one", "\\- one"),
        ("<p>+ one", "\\+ one"),
        ("<p>1. one", "1\\. one"),
        ("<p>one<br>2) two", "one\n2\\) two"),
        ("<ul><li>- one</ul>", "- \\- one"),
        ("<h2># one</h2>", "## \\# one"),
        ("<p>#1 of 1.5", "#1 of 1.5"),
    ] {
        assert_eq!(written(html), markdown, "{html}");
    }
    assert_eq!(whole("<p># one<p>1. two").text, "# one\n\n1. two");
}

#[test]
fn cells_keep_links_emphasis_and_their_column() {
    let html = "<table><tr><th>Name</th><th colspan=2>Size</th><th>Note</th></tr>\
                <tr><td rowspan=2><a href=/a>One</a> <b>bold</b></td><td>1</td><td>2</td><td>a | *b*</td></tr>\
                <tr><td>3</td><td>4</td><td><a href=/c><i>last</i></a></td></tr></table>";
    assert_eq!(
        written(html),
        "| Name | Size |  | Note |\n| --- | --- | --- | --- |\n\
         | [One](https://site.test/a) **bold** | 1 | 2 | a \\| \\*b\\* |\n\
         |  | 3 | 4 | [*last*](https://site.test/c) |"
    );
    let found = whole(html);
    assert_eq!(
        found.tables,
        [[
            ["Name", "Size", "", "Note"],
            ["One bold", "1", "2", "a | *b*"],
            ["", "3", "4", "last"]
        ]]
    );
    let links: Vec<_> = found.links.iter().map(|link| link.text.as_str()).collect();
    assert_eq!(links, ["One", "last"]);
    let layout = "<table><tr><td colspan=3># All of it</td></tr><tr><td>Below</td></tr></table>";
    assert_eq!(written(layout), "\\# All of it\n\nBelow");
}

#[test]
fn depths_just_below_the_limit_are_read_by_a_small_stack() {
    let words = "Some words, enough of them to be taken for the main text of a page. ".repeat(20);
    let html = format!(
        "{}<p>{words}</p>{}",
        "<div>".repeat(990),
        "</div>".repeat(990)
    );
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let found = thread.spawn(move || read(&html)).unwrap().join().unwrap();
    assert!(found.text.contains("enough of them"));
}
