//! The commands, by name.
//!
//! One table line each says where it goes and what it may do, so that no other place has to know a list of names.

/// What a command does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Asks Keepa and changes nothing there.
    Read,
    /// Changes something at Keepa.
    Write,
    /// Stays on this machine.
    Local,
}

macro_rules! commands {
    ($($variant:ident $name:literal $effect:ident $endpoint:literal $tool:expr,)+) => {
        /// One command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Command {
            $(#[doc = $name] $variant,)+
        }

        impl Command {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it does to the world.
            pub const fn effect(self) -> Effect {
                match self { $(Self::$variant => Effect::$effect,)+ }
            }

            /// The path at Keepa; empty for what stays here.
            pub const fn endpoint(self) -> &'static str {
                match self { $(Self::$variant => $endpoint,)+ }
            }

            /// The name agents call it by, without the pack's prefix, if they may.
            pub const fn tool(self) -> Option<&'static str> {
                match self { $(Self::$variant => $tool,)+ }
            }
        }
    };
}

commands! {
    ProductsGet "products.get" Read "/product" Some("products_get"),
    ProductsCompare "products.compare" Read "/product" Some("products_compare"),
    ProductsSearch "products.search" Read "/search" None,
    CategoriesGet "categories.get" Read "/category" None,
    CategoriesSearch "categories.search" Read "/search" Some("categories_search"),
    CategoriesProducts "categories.products" Read "/bestsellers" Some("categories_products"),
    CategoriesFinderSelection "categories.finder-selection" Local "" Some("categories_finder_selection"),
    FinderQuery "finder.query" Read "/query" Some("finder_query"),
    DealsQuery "deals.query" Read "/deal" Some("deals_query"),
    SellersGet "sellers.get" Read "/seller" Some("sellers_get"),
    BestsellersGet "bestsellers.get" Read "/bestsellers" Some("bestsellers_get"),
    TopsellersList "topsellers.list" Read "/topseller" Some("topsellers_list"),
    LightningdealsList "lightningdeals.list" Read "/lightningdeal" None,
    GraphsImage "graphs.image" Read "/graphimage" None,
    HistoryExport "history.export" Read "/product" None,
    HistoryTrend "history.trend" Read "/product" None,
    TokensStatus "tokens.status" Read "/token" None,
    TrackingList "tracking.list" Read "/tracking" Some("tracking_list"),
    TrackingListNames "tracking.list-names" Read "/tracking" Some("tracking_list_names"),
    TrackingGet "tracking.get" Read "/tracking" Some("tracking_get"),
    TrackingNotifications "tracking.notifications" Read "/tracking" Some("tracking_notifications"),
    TrackingAdd "tracking.add" Write "/tracking" None,
    TrackingRemove "tracking.remove" Write "/tracking" None,
    TrackingRemoveAll "tracking.remove-all" Write "/tracking" None,
    TrackingWebhook "tracking.webhook" Write "/tracking" None,
    WorkflowPlan "workflow.plan" Local "" Some("workflow_plan"),
    ResearchGraphMerge "research_graph.merge" Local "" Some("research_graph_merge"),
    ResearchBriefExport "research_brief.export" Local "" Some("research_brief_export"),
    DocsIndex "docs.index" Local "" Some("docs_index"),
    DocsRead "docs.read" Local "" Some("docs_read"),
    ContextPolicy "context.policy" Local "" Some("context_policy"),
    ResearchTargetResolve "research.target.resolve" Local "" Some("resolve_research_target"),
    ResearchContextQuery "research.context.query" Local "" Some("query_research_context"),
    AuditCost "audit.cost" Local "" Some("audit_cost"),
    CassettesSanitize "cassettes.sanitize" Local "" Some("cassettes_sanitize"),
    CassettesPromote "cassettes.promote" Local "" Some("cassettes_promote"),
    CassettesPromoteAndVerify "cassettes.promote_and_verify" Local "" Some("cassettes_promote_and_verify"),
    ReportsBuild "reports.build" Local "" Some("reports_build"),
    BrowseSnapshot "browse.snapshot" Local "" Some("browse_snapshot"),
    ChartsRender "charts.render" Read "/product" None,
    RequestGet "request.get" Read "" None,
    TokensPlan "tokens.plan" Local "" None,
    BatchAsins "batch.asins" Local "" None,
    TemplatesList "templates.list" Local "" None,
    TemplatesShow "templates.show" Local "" None,
    SchemaGenerate "schema.generate" Local "" None,
    Capabilities "capabilities" Local "" None,
    DomainsList "domains.list" Local "" None,
    CacheExplainKey "cache.explain-key" Local "" None,
    CacheStats "cache.stats" Local "" None,
    CacheClear "cache.clear" Local "" None,
}

/// The commands that send nothing to Keepa, as a pattern, so that no other place has to list them.
macro_rules! local_commands {
    () => {
        $crate::Command::CategoriesFinderSelection
            | $crate::Command::WorkflowPlan
            | $crate::Command::ResearchGraphMerge
            | $crate::Command::ResearchBriefExport
            | $crate::Command::DocsIndex
            | $crate::Command::DocsRead
            | $crate::Command::ContextPolicy
            | $crate::Command::ResearchTargetResolve
            | $crate::Command::ResearchContextQuery
            | $crate::Command::AuditCost
            | $crate::Command::CassettesSanitize
            | $crate::Command::CassettesPromote
            | $crate::Command::CassettesPromoteAndVerify
            | $crate::Command::ReportsBuild
            | $crate::Command::BrowseSnapshot
            | $crate::Command::TokensPlan
            | $crate::Command::BatchAsins
            | $crate::Command::TemplatesList
            | $crate::Command::TemplatesShow
            | $crate::Command::SchemaGenerate
            | $crate::Command::Capabilities
            | $crate::Command::DomainsList
            | $crate::Command::CacheExplainKey
            | $crate::Command::CacheStats
            | $crate::Command::CacheClear
    };
}
pub(crate) use local_commands;

impl Command {
    /// The command with this name, with `-` and `_` taken for one another.
    pub fn named(name: &str) -> Option<Self> {
        let plain = |text: &str| text.replace('-', "_");
        let wanted = plain(name);
        Self::ALL
            .iter()
            .copied()
            .find(|one| plain(one.name()) == wanted)
    }

    /// Whether the answer is a picture rather than JSON.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::GraphsImage)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn agents_have_twenty_eight_and_none_writes() {
        let tools: Vec<Command> = Command::ALL
            .iter()
            .copied()
            .filter(|one| one.tool().is_some())
            .collect();
        assert_eq!(tools.len(), 28);
        assert!(tools.iter().all(|one| one.effect() != Effect::Write));
        let names: BTreeSet<_> = tools.iter().map(|one| one.tool()).collect();
        assert_eq!(names.len(), 28);
    }

    #[test]
    fn names_are_found_in_both_spellings() {
        for one in Command::ALL {
            assert_eq!(Command::named(one.name()), Some(*one));
            let is_local = matches!(one, local_commands!());
            assert_eq!(is_local, one.effect() == Effect::Local, "{}", one.name());
        }
        assert_eq!(
            Command::named("tracking.list_names"),
            Some(Command::TrackingListNames)
        );
        assert_eq!(Command::named("products"), None);
    }
}
