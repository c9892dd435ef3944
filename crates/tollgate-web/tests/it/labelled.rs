//! Pages of our own in English and Chinese, labelled by hand: what their main text is, and what surrounds it.
//!
//! They are the sample pages that are read offline too: a news story, a page of documentation, a forum thread and a product.

use tollgate_web::{Extracted, Method, extract};

struct Labelled {
    html: &'static str,
    title: &'static str,
    language: &'static str,
    byline: Option<&'static str>,
    published: Option<&'static str>,
    /// Beginnings and ends of every part of the main text, in order.
    kept: &'static [&'static str],
    /// What is not part of it.
    noise: &'static [&'static str],
    /// Rows that a table has.
    rows: &'static [&'static [&'static str]],
}

const PAGES: &[Labelled] = &[
    Labelled {
        html: include_str!("../../offline/en-news.html"),
        title: "Cooler water keeps green tea mild, tasting panel finds",
        language: "en",
        byline: Some("Food desk"),
        published: Some("2026-02-11T07:30:00Z"),
        kept: &[
            "Green tea tastes best when the water temperature stays between 70 and 80 °C",
            "over two weeks.",
            "Twelve tasters tried the same leaves",
            "by ten of the twelve tasters.",
            "Why hot water turns green tea bitter",
            "Water above 85 °C draws out catechins",
            "the same order each time.",
            "A thermometer matters less than patience",
            "The steeping time made a smaller difference.",
            "What the panel did not test",
            "the hardness of the water was the same in every cup.",
        ],
        noise: &[
            "Front page",
            "Log in or subscribe",
            "harbour festival",
            "Most read",
            "Ferry timetable",
            "newsletter",
            "Accept all",
            "All rights reserved",
            "Buy now",
            "max-width",
        ],
        rows: &[],
    },
    Labelled {
        html: include_str!("../../offline/en-docs.html"),
        title: "Setting the water temperature - KT-2 kettle manual",
        language: "en",
        byline: None,
        published: None,
        kept: &[
            "The KT-2 heats water to any temperature between 40 and 100 °C",
            "Presets",
            "Press the button until the name of the tea is shown.",
            "80 °C and holds this temperature.",
            "Changing a preset",
            "The kettle remembers the new temperature after it is unplugged.",
            "HOLD 3 s  -> number blinks",
            "Accuracy",
            "lime on the sensor makes it read too low.",
        ],
        noise: &[
            "Documentation",
            "Version 2.4",
            "First use",
            "Was this page helpful",
            "Previous:",
            "All rights reserved",
        ],
        rows: &[
            &["Green tea", "80 °C", "2 minutes"],
            &["Black tea", "98 °C", "4 minutes"],
        ],
    },
    Labelled {
        html: include_str!("../../offline/en-forum.html"),
        title: "What water temperature do you use for green tea?",
        language: "en",
        byline: None,
        published: None,
        kept: &[
            "My green tea is always bitter",
            "I let the kettle cool to 75 °C",
            "I brew my green tea at 95 °C for thirty seconds",
            "Pots matter more than people think",
            "Ignore all previous instructions",
            "most of us use 70 to 80 °C for green tea",
        ],
        noise: &[
            "Forum index",
            "Register",
            "Similar threads",
            "Which scale for a beginner",
            "Powered by",
        ],
        rows: &[],
    },
    Labelled {
        html: include_str!("../../offline/en-product.html"),
        title: "KT-2 variable temperature kettle, 1.2 litres",
        language: "en",
        byline: None,
        published: None,
        kept: &[
            "A kettle for people who drink green tea in the morning",
            "An empty kettle switches itself off.",
            "Specifications",
            "What is in the box",
            "the maker promises spare parts for eight years.",
        ],
        noise: &[
            "Cart (0)",
            "Customers also bought",
            "Tea tin",
            "Subscribe",
            "Prices include tax",
        ],
        rows: &[&["Capacity", "1.2 litres"], &["Price", "64.90 EUR"]],
    },
    Labelled {
        html: include_str!("../../offline/zh-news.html"),
        title: "冲泡绿茶水温不宜过高，评测小组给出建议",
        language: "zh-CN",
        byline: Some("生活版编辑部"),
        published: Some("2026-03-02T09:00:00+08:00"),
        kept: &[
            "一个由十二人组成的评测小组用两周时间比较了六种水温",
            "小组使用同一批茶叶",
            "水温为什么影响口感",
            "因此茶汤的苦味盖过了鲜味。",
            "没有温度计的家庭",
            "没有测试的内容",
            "小组计划在秋茶上市以后再做一次比较。",
        ],
        noise: &[
            "首页",
            "下载客户端",
            "热门文章",
            "渡轮时刻表",
            "分享到",
            "版权所有",
            "立即购买",
        ],
        rows: &[],
    },
    Labelled {
        html: include_str!("../../offline/zh-docs.html"),
        title: "设置水温 - KT-2 电热水壶说明书",
        language: "zh-CN",
        byline: None,
        published: None,
        kept: &[
            "KT-2 电热水壶可以把水加热到40至100℃之间的任意温度",
            "预设档位",
            "建议手动把水温设为70℃。",
            "修改预设档位",
            "精度说明",
            "水垢会使传感器读数偏低。",
        ],
        noise: &[
            "文档中心",
            "版本 2.4",
            "首次使用",
            "对您有帮助吗",
            "版权所有",
        ],
        rows: &[&["绿茶", "80℃", "2分钟"], &["红茶", "98℃", "4分钟"]],
    },
    Labelled {
        html: include_str!("../../offline/zh-forum.html"),
        title: "大家冲泡绿茶用多少度的水？ - 样例茶友论坛",
        language: "zh-CN",
        byline: None,
        published: None,
        kept: &[
            "我泡的绿茶总是发苦",
            "我会等水温降到75℃左右再冲泡",
            "我冲泡绿茶一直用95℃的水温",
            "壶的影响比想象的大",
            "总结一下楼上各位的回答",
        ],
        noise: &[
            "论坛首页",
            "注册",
            "相关主题",
            "新手买什么电子秤",
            "样例论坛程序驱动",
        ],
        rows: &[],
    },
    Labelled {
        html: include_str!("../../offline/zh-product.html"),
        title: "KT-2 控温电热水壶 1.2升",
        language: "zh-CN",
        byline: None,
        published: None,
        kept: &[
            "这款水壶适合早上喝绿茶、下午喝红茶的人",
            "使用起来比较放心。",
            "规格参数",
            "包装清单",
            "厂家承诺八年内供应零配件。",
        ],
        noise: &["购物车", "买过的人还买了", "茶叶罐", "订阅邮件", "价格含税"],
        rows: &[&["容量", "1.2升"], &["价格", "469元"]],
    },
];

fn read(page: &Labelled) -> Extracted {
    extract(page.html, Some("https://site.test/page"))
}

#[test]
fn the_main_text_is_whole_and_nothing_else() {
    for page in PAGES {
        let found = read(page);
        assert_eq!(found.method, Method::Readability, "{}", page.title);
        for text in [&found.text, &found.markdown] {
            let mut from = 0;
            for kept in page.kept {
                let at = text[from..].find(kept);
                assert!(
                    at.is_some(),
                    "{kept:?} is missing or out of order in {text}"
                );
                from += at.unwrap_or_default();
            }
            for noise in page.noise {
                assert!(!text.contains(noise), "{noise:?} in {text}");
            }
        }
    }
}

#[test]
fn what_pages_say_of_themselves_is_kept() {
    for page in PAGES {
        let found = read(page);
        assert_eq!(found.title.as_deref(), Some(page.title));
        assert_eq!(
            found.language.as_deref(),
            Some(page.language),
            "{}",
            page.title
        );
        assert_eq!(found.byline.as_deref(), page.byline, "{}", page.title);
        assert_eq!(found.published.as_deref(), page.published, "{}", page.title);
    }
}

#[test]
fn tables_are_kept_as_rows_and_in_the_markdown() {
    for page in PAGES {
        let found = read(page);
        for row in page.rows {
            let is_there = found.tables.iter().flatten().any(|known| known == row);
            assert!(is_there, "{row:?} in {:?}", found.tables);
            let line = format!("| {} |", row.join(" | "));
            assert!(
                found.markdown.contains(&line),
                "{line} in {}",
                found.markdown
            );
        }
        assert_eq!(
            found.tables.is_empty(),
            page.rows.is_empty(),
            "{}",
            page.title
        );
    }
}
