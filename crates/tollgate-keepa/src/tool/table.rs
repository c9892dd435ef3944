//! The tools, one entry each, and the arguments of the commands that are none.

use super::Tool;
use crate::Command;

/// The profiles a tool is listed in, as letters: o, d, l, t, f.
const HERE: &str = "odl";
const PRICED: &str = "dl";
const LIVE: &str = "l";
const ALWAYS: &str = "odltf";

macro_rules! tool {
    ($command:ident, $title:literal, $groups:literal, $profiles:expr, $results:literal, $arguments:literal, $about:literal) => {
        Tool {
            command: Command::$command,
            title: $title,
            about: $about,
            groups: $groups,
            arguments: $arguments,
            takes_results: $results,
            profiles: $profiles,
        }
    };
}

/// The tools, in the order they are listed.
pub const TOOLS: &[Tool] = &[
    tool!(
        ContextPolicy,
        "What may be done here",
        "docs research",
        ALWAYS,
        false,
        "from_cache",
        "Says what may be done here. Read it first. Success: profiles, tool sets, whether a key is set. Always succeeds. Costs nothing."
    ),
    tool!(
        ResearchTargetResolve,
        "Find out what is meant",
        "research",
        HERE,
        false,
        "query* domain hint_type from_cache",
        "Turns words into candidates: ASIN, code, seller, category, sample, keyword, each with a score. Success: `primary` and `next_actions`. Fails without `query`. Costs nothing."
    ),
    tool!(
        ResearchContextQuery,
        "Find what is here about it",
        "research docs",
        HERE,
        false,
        "query question target_type target_id target from_cache",
        "Finds what can be read here about a target. Success: addresses in reading order. Fails without one. Costs nothing."
    ),
    tool!(
        WorkflowPlan,
        "Plan a piece of research",
        "research planning",
        HERE,
        false,
        "name* term asin domain goal hydrate_top from_cache",
        "Makes a plan: category-research (term), product-research (asin), report-research or tracking-audit. Success: steps with prices, profiles and what they hand on. Fails: missing_inputs. Costs nothing."
    ),
    tool!(
        ProductsGet,
        "Read products",
        "research product",
        LIVE,
        true,
        "asin code domain full agent_view view fields history_limit temporal_window_days stats_window history stats days offers only_live_offers code_limit rating buybox videos aplus update stock rental historical_variations fixture chunks_dir out no_cache cache_ttl dry_run yes from_cache",
        "Reads products by ASIN or code. Success: prices, demand, rating, risks, graph, next actions. 1 token each; offers cost 6 a page and ask first. Use view=summary to begin. Fails: product_not_found."
    ),
    tool!(
        ProductsCompare,
        "Compare products",
        "research product compare",
        LIVE,
        true,
        "asin* domain full view fields history_limit temporal_window_days stats_window history stats days offers only_live_offers rating buybox videos aplus update stock rental historical_variations keep_history_points fixture chunks_dir no_cache cache_ttl dry_run yes from_cache",
        "Compares at least two products. Success: rows, risks and one graph. 1 token each. Fails: product_not_found."
    ),
    tool!(
        CategoriesSearch,
        "Find categories",
        "research category",
        PRICED,
        false,
        "term* domain fixture out no_cache cache_ttl dry_run from_cache",
        "Finds categories by words of at least three letters. 1 token. Success: candidates with next actions. Fails: auth_missing."
    ),
    tool!(
        CategoriesProducts,
        "List a category's products",
        "research category",
        PRICED,
        true,
        "category* domain limit hydrate_top product_fixture history_limit temporal_window_days fixture out no_cache cache_ttl dry_run yes from_cache",
        "Lists the best sellers of a category. Success: candidates. Fails: confirmation_required, as it costs 50 tokens: send yes=true to accept."
    ),
    tool!(
        CategoriesFinderSelection,
        "Prepare a finder query",
        "research category finder",
        ALWAYS,
        true,
        "category* domain per_page sales_rank_max min_reviews out from_cache",
        "Makes a finder query for a category. Success: `selection`. Fails: no such category. Costs nothing."
    ),
    tool!(
        FinderQuery,
        "Search products by figures",
        "research finder",
        PRICED,
        false,
        "selection selection_file domain max_tokens stats fixture out no_cache cache_ttl dry_run yes from_cache",
        "Searches products by a selection. Success: ASINs. Fails: confirmation_required, as it costs about 11 tokens; a field that does not exist is refused with the nearest that do."
    ),
    tool!(
        DealsQuery,
        "Find deals",
        "research deals",
        PRICED,
        false,
        "selection selection_file domain fixture out no_cache cache_ttl dry_run yes from_cache",
        "Finds recent price drops by a selection. Success: deals, 5 tokens a page of 150. Fails: invalid_argument."
    ),
    tool!(
        SellersGet,
        "Read sellers",
        "research seller",
        LIVE,
        false,
        "seller* domain storefront update fixture out no_cache cache_ttl dry_run from_cache",
        "Reads sellers. Success: ratings and, if wanted, what they sell. 1 token each, 9 more with the storefront. Fails: auth_missing."
    ),
    tool!(
        BestsellersGet,
        "Read a list of best sellers",
        "research category rankings",
        PRICED,
        false,
        "category* domain range month year variations sublist fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads the best sellers of a category. Success: the whole list. Fails: confirmation_required, as it costs 50 tokens."
    ),
    tool!(
        TopsellersList,
        "Read the largest sellers",
        "research seller rankings",
        PRICED,
        false,
        "category domain fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads the largest sellers of a marketplace. Success: their ids. Fails: confirmation_required, as it costs 50 tokens."
    ),
    tool!(
        ResearchGraphMerge,
        "Merge graphs",
        "research graph reports",
        HERE,
        true,
        "input graph root label prefer_source out from_cache",
        "Merges the graphs of earlier results. Success: one graph, with conflicts and how each was decided. Fails without a graph. Costs nothing."
    ),
    tool!(
        ResearchBriefExport,
        "Write a brief",
        "research graph reports",
        HERE,
        true,
        "input payload graph title id out from_cache",
        "Makes one brief of earlier results. Success: decisions, risks, next actions, evidence. Fails without results. Costs nothing."
    ),
    tool!(
        DocsIndex,
        "List what can be read",
        "docs research",
        ALWAYS,
        false,
        "from_cache",
        "Lists what can be read. Success: documents, samples, families of addresses. Always succeeds. Costs nothing."
    ),
    tool!(
        DocsRead,
        "Read a document",
        "docs research",
        ALWAYS,
        false,
        "uri page from_cache",
        "Reads one of them by address or page. Success: its text. Fails: resource_not_found. Costs nothing."
    ),
    tool!(
        AuditCost,
        "Price commands",
        "audit tracking-readonly",
        ALWAYS,
        true,
        "target_command params commands from_cache",
        "Says what commands would cost. Success: tokens, part by part. Fails: unsupported_command. Costs nothing."
    ),
    tool!(
        CassettesSanitize,
        "Clean a recording",
        "audit cassette",
        "olf",
        false,
        "input* out* from_cache",
        "Takes secrets out of a recorded answer. Success: the file that was written. Fails: file_refused."
    ),
    tool!(
        CassettesPromote,
        "Make a recording a sample",
        "audit cassette",
        "lf",
        false,
        "input* name* tests_dir package_dir manifest title no_manifest dry_run from_cache",
        "Makes a recorded answer a sample, without secrets. Success: both files that were written. Fails: file_refused."
    ),
    tool!(
        CassettesPromoteAndVerify,
        "Make a recording a sample and check",
        "audit cassette",
        "lf",
        false,
        "input* name* tests_dir package_dir eval_dir manifest title no_manifest run_eval dry_run from_cache",
        "The same, and compares both folders. Success: they hold the same. Fails: fixture_sync_failed."
    ),
    tool!(
        ReportsBuild,
        "Build a report",
        "reports",
        HERE,
        true,
        "input* format out title from_cache",
        "Makes a report of earlier results as Markdown, JSON or CSV. Success: the report. Fails without results. Costs nothing."
    ),
    tool!(
        BrowseSnapshot,
        "Build a page to look at",
        "reports",
        HERE,
        true,
        "input* out_dir title from_cache",
        "Makes a page with tables and charts that needs no network. Success: its files. Fails without results. Costs nothing."
    ),
    tool!(
        TrackingList,
        "List trackings",
        "tracking-readonly",
        "lt",
        false,
        "asins_only list page per_page domain fixture out dry_run from_cache",
        "Lists what the account tracks. Success: trackings. Fails: auth_missing. Costs nothing; changes nothing."
    ),
    tool!(
        TrackingListNames,
        "List the names of lists",
        "tracking-readonly",
        "lt",
        false,
        "asins_only domain fixture out dry_run from_cache",
        "Lists the account's lists of trackings. Success: their names. Fails: auth_missing. Costs nothing; changes nothing."
    ),
    tool!(
        TrackingGet,
        "Read a tracking",
        "tracking-readonly",
        "lt",
        true,
        "asin* list domain fixture dry_run from_cache",
        "Reads one tracking. Success: the tracking. Fails: it is not tracked. Costs nothing; changes nothing."
    ),
    tool!(
        TrackingNotifications,
        "Read notifications",
        "tracking-readonly",
        "lt",
        false,
        "since revise list all domain fixture dry_run from_cache",
        "Reads notifications without marking them read. Success: notifications. Fails: auth_missing. Costs nothing; changes nothing."
    ),
];

/// A command that agents have no tool for: its arguments, and what it does.
type Other = (Command, &'static str, &'static str);

/// They are for the command line and JSON lines.
const OTHERS: &[Other] = &[
    (
        Command::ProductsSearch,
        "term* domain page asins_only stats update history rating fixture out no_cache cache_ttl dry_run yes from_cache",
        "Searches products by words. Success: products; 10 tokens a page of ten, 40 without a page number. Fails: auth_missing.",
    ),
    (
        Command::CategoriesGet,
        "category* domain parents fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads up to ten categories by number; 0 is the roots. Success: categories. 1 token. Fails: auth_missing.",
    ),
    (
        Command::LightningdealsList,
        "asin domain fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads lightning deals. Success: those of one product for 1 token, all for 500. Fails: auth_missing.",
    ),
    (
        Command::GraphsImage,
        "asin* domain range width height title yzoom amazon new used salesrank bb bbu fba fbm ld wd cBackground cFont cAmazon cNew cUsed cSales cFBA cFBM cBB cBBU cLD cWD out dry_run yes from_cache",
        "Fetches Keepa's own graph of a product. Success: a picture. 1 token. Fails: auth_missing.",
    ),
    (
        Command::HistoryExport,
        "asin* domain series format out include_missing fixture no_cache cache_ttl dry_run from_cache",
        "Writes histories of a product as rows. Success: the file or the rows. 1 token. Fails: history_unavailable.",
    ),
    (
        Command::HistoryTrend,
        "asin* domain series window_days fixture no_cache cache_ttl dry_run from_cache",
        "Sums histories of a product up. Success: the whole and each window. 1 token. Fails: history_unavailable.",
    ),
    (
        Command::ChartsRender,
        "asin input domain series format fixture out no_cache cache_ttl dry_run from_cache",
        "Draws price, buy box, rank and offers with drops marked: of a product, or of up to eight side by side. 1 token each; products of an earlier answer (`input`) cost nothing. Success: the picture. Fails: history_empty.",
    ),
    (
        Command::TokensStatus,
        "fixture dry_run from_cache",
        "Says how many tokens the account has. Success: the balance. Fails: auth_missing. Costs nothing.",
    ),
    (
        Command::TokensPlan,
        "name term asin domain goal hydrate_top commands tokens_left refill_rate fixture dry_run",
        "Says what a plan or commands cost, whether the balance can pay and when it could. Success: the steps with their prices. Fails: missing_inputs. Costs nothing; with a key the balance is read.",
    ),
    (
        Command::TrackingAdd,
        "trackings* list fixture dry_run yes",
        "Adds trackings. Success: they are there. 1 token each, and a slower refill as long as they live. Fails until a human agrees.",
    ),
    (
        Command::TrackingRemove,
        "asin* list fixture dry_run yes",
        "Removes a tracking. Success: it is gone. Fails until a human agrees.",
    ),
    (
        Command::TrackingRemoveAll,
        "list fixture dry_run yes",
        "Removes all trackings. Success: they are gone. Fails until a human agrees.",
    ),
    (
        Command::TrackingWebhook,
        "url* fixture dry_run yes",
        "Sets where notifications go. Success: it is set. Fails until a human agrees.",
    ),
    (
        Command::RequestGet,
        "endpoint* params fixture out no_cache cache_ttl dry_run yes from_cache",
        "Sends a plain request that only reads. Success: Keepa's answer. Fails: confirmation_required, as its price is Keepa's to say.",
    ),
    (
        Command::BatchAsins,
        "input* domain view",
        "Turns a file of ASINs into calls that each fit one request. Success: the calls. Fails: file_refused. Costs nothing.",
    ),
    (
        Command::TemplatesList,
        "",
        "Lists parameters to begin with. Success: their names. Always succeeds. Costs nothing.",
    ),
    (
        Command::TemplatesShow,
        "name*",
        "Shows parameters to begin with. Success: the parameters. Fails: no such name. Costs nothing.",
    ),
    (
        Command::SchemaGenerate,
        "name",
        "Shows what commands take and answer. Success: schemas. Fails: unsupported_command. Costs nothing.",
    ),
    (
        Command::Capabilities,
        "",
        "Lists what there is. Success: all commands, tools, sets and profiles. Always succeeds. Costs nothing.",
    ),
    (
        Command::DomainsList,
        "",
        "Lists the marketplaces. Success: each with its currency. Always succeeds. Costs nothing.",
    ),
    (
        Command::CacheExplainKey,
        "command* params",
        "Works out the session's key of a call. Success: the key. Fails: unsupported_command. Costs nothing.",
    ),
    (
        Command::CacheExplain,
        "command* params",
        "Says whether a call would be answered from what is kept. Success: yes or no, and why. Fails: unsupported_command. Costs nothing.",
    ),
    (
        Command::CacheStats,
        "",
        "Counts answers of Keepa's that are kept. Success: the counts. Always succeeds. Costs nothing.",
    ),
    (
        Command::CacheInspect,
        "entry limit",
        "Lists answers of Keepa's that are kept, or tells more of one. Success: the entries. Fails: cache_miss. Costs nothing.",
    ),
    (
        Command::CachePruneExpired,
        "",
        "Removes kept answers that have expired. Success: how many. Always succeeds. Costs nothing.",
    ),
    (
        Command::CacheClear,
        "",
        "Removes all kept answers. Success: how many. Fails until a human agrees.",
    ),
];

fn other(command: Command) -> Option<&'static Other> {
    OTHERS.iter().find(|(one, _, _)| *one == command)
}

/// The arguments of a command, between blanks.
pub fn arguments(command: Command) -> &'static str {
    match Tool::of(command) {
        Some(tool) => tool.arguments,
        None => other(command).map_or("", |(_, arguments, _)| arguments),
    }
}

/// Arguments that are typed without their name, if a command takes one of them.
const BARE: [&str; 10] = [
    "asin", "term", "category", "seller", "name", "query", "input", "endpoint", "command", "entry",
];

/// The argument of a command that is typed without its name.
pub fn bare(command: Command) -> Option<&'static str> {
    let names = arguments(command).split_whitespace();
    let mut names = names.map(|word| word.trim_end_matches('*'));
    names.find(|name| BARE.contains(name))
}

/// What a command does.
pub fn about(command: Command) -> &'static str {
    match Tool::of(command) {
        Some(tool) => tool.about,
        None => other(command).map_or("", |(_, _, about)| about),
    }
}
