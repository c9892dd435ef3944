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
        "Says what may be done: profiles, tool sets, whether a key is set. Read it first. Costs nothing."
    ),
    tool!(
        ResearchTargetResolve,
        "Find out what is meant",
        "research",
        HERE,
        false,
        "query* domain hint_type from_cache",
        "Turns words into candidates: ASIN, code, seller, category, sample, keyword, each with a score. Success: `primary` and `next_actions`. Costs nothing."
    ),
    tool!(
        ResearchContextQuery,
        "Find what is here about it",
        "research docs",
        HERE,
        false,
        "query question target_type target_id target from_cache",
        "Lists what can be read here about a target, in reading order. Costs nothing."
    ),
    tool!(
        WorkflowPlan,
        "Plan a piece of research",
        "research planning",
        HERE,
        false,
        "name* term asin domain goal hydrate_top from_cache",
        "Makes a plan: category-research (term), product-research (asin), report-research or tracking-audit. Success: steps with prices, profiles and what they hand on. Costs nothing."
    ),
    tool!(
        ProductsGet,
        "Read products",
        "research product",
        LIVE,
        true,
        "asin code domain full agent_view view fields history_limit temporal_window_days stats_window history stats days offers only_live_offers code_limit rating buybox videos aplus update stock rental historical_variations fixture chunks_dir out no_cache cache_ttl dry_run yes from_cache",
        "Reads products by ASIN or code: prices, demand, rating, risks, graph, next actions. 1 token each; offers cost 6 a page and ask first. Use view=summary to begin. No such product: product_not_found."
    ),
    tool!(
        ProductsCompare,
        "Compare products",
        "research product compare",
        LIVE,
        true,
        "asin* domain full view fields history_limit temporal_window_days stats_window history stats days offers only_live_offers rating buybox videos aplus update stock rental historical_variations keep_history_points fixture chunks_dir no_cache cache_ttl dry_run yes from_cache",
        "Puts products side by side, with risks and one graph. At least two ASINs; 1 token each."
    ),
    tool!(
        CategoriesSearch,
        "Find categories",
        "research category",
        PRICED,
        false,
        "term* domain fixture out no_cache cache_ttl dry_run from_cache",
        "Finds categories by words of at least three letters. 1 token. Success: candidates with next actions."
    ),
    tool!(
        CategoriesProducts,
        "List a category's products",
        "research category",
        PRICED,
        true,
        "category* domain limit hydrate_top product_fixture history_limit temporal_window_days fixture out no_cache cache_ttl dry_run yes from_cache",
        "Lists the best sellers of a category as candidates. 50 tokens, so it asks first: send yes=true to accept."
    ),
    tool!(
        CategoriesFinderSelection,
        "Prepare a finder query",
        "research category finder",
        PRICED,
        true,
        "category* domain per_page sales_rank_max min_reviews out from_cache",
        "Makes a finder query for a category. Costs nothing."
    ),
    tool!(
        FinderQuery,
        "Search products by figures",
        "research finder",
        PRICED,
        false,
        "selection selection_file domain max_tokens stats fixture out no_cache cache_ttl dry_run yes from_cache",
        "Searches products by a selection. About 11 tokens, so it asks first. A field that does not exist is refused with the nearest that do."
    ),
    tool!(
        DealsQuery,
        "Find deals",
        "research deals",
        PRICED,
        false,
        "selection selection_file domain fixture out no_cache cache_ttl dry_run yes from_cache",
        "Finds recent price drops by a selection. 5 tokens a page of 150."
    ),
    tool!(
        SellersGet,
        "Read sellers",
        "research seller",
        LIVE,
        false,
        "seller* domain storefront update fixture out no_cache cache_ttl dry_run from_cache",
        "Reads sellers and, if wanted, what they sell. 1 token each, 9 more with the storefront."
    ),
    tool!(
        BestsellersGet,
        "Read a list of best sellers",
        "research category rankings",
        PRICED,
        false,
        "category* domain range month year variations sublist fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads the whole list of best sellers of a category. 50 tokens, so it asks first."
    ),
    tool!(
        TopsellersList,
        "Read the largest sellers",
        "research seller rankings",
        PRICED,
        false,
        "category domain fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads the largest sellers of a marketplace. 50 tokens, so it asks first."
    ),
    tool!(
        ResearchGraphMerge,
        "Merge graphs",
        "research graph reports",
        HERE,
        true,
        "input graph root label prefer_source out from_cache",
        "Merges the graphs of earlier results, with duplicates, conflicts and how each was decided. Costs nothing."
    ),
    tool!(
        ResearchBriefExport,
        "Write a brief",
        "research graph reports",
        HERE,
        true,
        "input payload graph title id out from_cache",
        "Gathers decisions, risks, next actions and evidence of earlier results into one brief. Costs nothing."
    ),
    tool!(
        DocsIndex,
        "List what can be read",
        "docs research",
        ALWAYS,
        false,
        "from_cache",
        "Lists documents, samples and families of addresses. Costs nothing."
    ),
    tool!(
        DocsRead,
        "Read a document",
        "docs research",
        ALWAYS,
        false,
        "uri page from_cache",
        "Reads one of them by address or page. Costs nothing."
    ),
    tool!(
        AuditCost,
        "Price commands",
        "audit tracking-readonly",
        ALWAYS,
        true,
        "target_command params commands from_cache",
        "Says what commands would cost, part by part. Costs nothing."
    ),
    tool!(
        CassettesSanitize,
        "Clean a recording",
        "audit cassette",
        "olf",
        false,
        "input* out* from_cache",
        "Takes secrets out of a recorded answer and writes it to a file."
    ),
    tool!(
        CassettesPromote,
        "Make a recording a sample",
        "audit cassette",
        "lf",
        false,
        "input* name* tests_dir package_dir manifest title no_manifest dry_run from_cache",
        "Cleans a recorded answer and writes it to both folders of samples."
    ),
    tool!(
        CassettesPromoteAndVerify,
        "Make a recording a sample and check",
        "audit cassette",
        "lf",
        false,
        "input* name* tests_dir package_dir eval_dir manifest title no_manifest run_eval dry_run from_cache",
        "The same, and checks that both folders hold the same samples."
    ),
    tool!(
        ReportsBuild,
        "Build a report",
        "reports",
        HERE,
        true,
        "input* format out title from_cache",
        "Makes a report of earlier results as Markdown, JSON or CSV. Costs nothing."
    ),
    tool!(
        BrowseSnapshot,
        "Build a page to look at",
        "reports",
        HERE,
        true,
        "input* out_dir title from_cache",
        "Makes a page with tables and charts that needs no network. Costs nothing."
    ),
    tool!(
        TrackingList,
        "List trackings",
        "tracking-readonly",
        "lt",
        false,
        "asins_only list page per_page domain fixture out dry_run from_cache",
        "Lists what the account tracks. Costs nothing; changes nothing."
    ),
    tool!(
        TrackingListNames,
        "List the names of lists",
        "tracking-readonly",
        "lt",
        false,
        "asins_only domain fixture out dry_run from_cache",
        "Names the account's lists of trackings. Costs nothing; changes nothing."
    ),
    tool!(
        TrackingGet,
        "Read a tracking",
        "tracking-readonly",
        "lt",
        true,
        "asin* list domain fixture dry_run from_cache",
        "Reads one tracking. Costs nothing; changes nothing."
    ),
    tool!(
        TrackingNotifications,
        "Read notifications",
        "tracking-readonly",
        "lt",
        false,
        "since revise list all domain fixture dry_run from_cache",
        "Reads notifications without marking them read. Costs nothing; changes nothing."
    ),
];

/// A command that agents have no tool for: its arguments, and what it does.
type Other = (Command, &'static str, &'static str);

/// They are for the command line and JSON lines.
const OTHERS: &[Other] = &[
    (
        Command::ProductsSearch,
        "term* domain page asins_only stats update history rating fixture out no_cache cache_ttl dry_run yes from_cache",
        "Searches products by words. 10 tokens a page of ten, 40 without a page number.",
    ),
    (
        Command::CategoriesGet,
        "category* domain parents fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads up to ten categories by number; 0 is the roots. 1 token.",
    ),
    (
        Command::LightningdealsList,
        "asin domain fixture out no_cache cache_ttl dry_run yes from_cache",
        "Reads lightning deals: of one product for 1 token, all for 500.",
    ),
    (
        Command::GraphsImage,
        "asin* domain range width height title yzoom amazon new used salesrank bb bbu fba fbm ld wd cBackground cFont cAmazon cNew cUsed cSales cFBA cFBM cBB cBBU cLD cWD out dry_run yes from_cache",
        "Fetches Keepa's own graph of a product as a picture. 1 token.",
    ),
    (
        Command::HistoryExport,
        "asin* domain series format out include_missing fixture no_cache cache_ttl dry_run from_cache",
        "Writes histories of a product as rows. 1 token.",
    ),
    (
        Command::HistoryTrend,
        "asin* domain series window_days fixture no_cache cache_ttl dry_run from_cache",
        "Sums histories of a product up, whole and by window. 1 token.",
    ),
    (
        Command::ChartsRender,
        "asin input domain series format fixture out no_cache cache_ttl dry_run from_cache",
        "Draws price, buy box, rank and offers with drops marked: of a product, or of up to eight side by side. 1 token each; products of an earlier answer (`input`) cost nothing.",
    ),
    (
        Command::TokensStatus,
        "fixture dry_run from_cache",
        "Says how many tokens the account has. Costs nothing.",
    ),
    (
        Command::TokensPlan,
        "name term asin domain goal hydrate_top commands tokens_left refill_rate fixture dry_run",
        "Says what a plan or commands cost, whether the balance can pay and when it could. Costs nothing; with a key the balance is read.",
    ),
    (
        Command::TrackingAdd,
        "trackings* list fixture dry_run yes",
        "Adds trackings. 1 token each, and a slower refill as long as they live; a human agrees first.",
    ),
    (
        Command::TrackingRemove,
        "asin* list fixture dry_run yes",
        "Removes a tracking; a human agrees first.",
    ),
    (
        Command::TrackingRemoveAll,
        "list fixture dry_run yes",
        "Removes all trackings; a human agrees first.",
    ),
    (
        Command::TrackingWebhook,
        "url* fixture dry_run yes",
        "Says where notifications go; a human agrees first.",
    ),
    (
        Command::RequestGet,
        "endpoint* params fixture out no_cache cache_ttl dry_run yes from_cache",
        "Sends a plain request that only reads. Its price is Keepa's to say, so it asks first.",
    ),
    (
        Command::BatchAsins,
        "input* domain view",
        "Turns a file of ASINs into calls that each fit one request. Costs nothing.",
    ),
    (
        Command::TemplatesList,
        "",
        "Lists parameters to begin with. Costs nothing.",
    ),
    (
        Command::TemplatesShow,
        "name*",
        "Shows parameters to begin with. Costs nothing.",
    ),
    (
        Command::SchemaGenerate,
        "name",
        "Shows what commands take and answer, as schemas. Costs nothing.",
    ),
    (
        Command::Capabilities,
        "",
        "Lists all commands, tools, sets and profiles. Costs nothing.",
    ),
    (
        Command::DomainsList,
        "",
        "Lists the marketplaces with their currencies. Costs nothing.",
    ),
    (
        Command::CacheExplainKey,
        "command* params",
        "Works out the session's key of a call. Costs nothing.",
    ),
    (
        Command::CacheExplain,
        "command* params",
        "Says whether a call would be answered from what is kept. Costs nothing.",
    ),
    (
        Command::CacheStats,
        "",
        "Counts answers of Keepa's that are kept. Costs nothing.",
    ),
    (
        Command::CacheInspect,
        "entry limit",
        "Lists answers of Keepa's that are kept, or tells more of one. Costs nothing.",
    ),
    (
        Command::CachePruneExpired,
        "",
        "Removes kept answers that have expired. Costs nothing.",
    ),
    (
        Command::CacheClear,
        "",
        "Removes all kept answers; a human agrees first.",
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
