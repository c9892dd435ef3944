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
    (
        asks { $($read:ident $read_name:literal $endpoint:literal $read_tool:expr,)+ }
        changes { $($write:ident $write_name:literal $write_endpoint:literal,)+ }
        stays { $($local:ident $local_name:literal $local_tool:expr,)+ }
    ) => {
        /// One command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Command {
            $(#[doc = $read_name] $read,)+
            $(#[doc = $write_name] $write,)+
            $(#[doc = $local_name] $local,)+
        }

        /// The commands that send nothing to Keepa, as a pattern, so that no other place has to list them.
        macro_rules! local_commands {
            () => { $($crate::Command::$local)|+ };
        }

        impl Command {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$read,)+ $(Self::$write,)+ $(Self::$local,)+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$read => $read_name,)+
                    $(Self::$write => $write_name,)+
                    $(Self::$local => $local_name,)+
                }
            }

            /// What it does to the world.
            pub const fn effect(self) -> Effect {
                match self {
                    $(Self::$read)|+ => Effect::Read,
                    $(Self::$write)|+ => Effect::Write,
                    $(Self::$local)|+ => Effect::Local,
                }
            }

            /// The path at Keepa; empty for what stays here.
            pub const fn endpoint(self) -> &'static str {
                match self {
                    $(Self::$read => $endpoint,)+
                    $(Self::$write => $write_endpoint,)+
                    $(Self::$local)|+ => "",
                }
            }

            /// The name agents call it by, without the pack's prefix, if they may: what changes something they may not.
            pub const fn tool(self) -> Option<&'static str> {
                match self {
                    $(Self::$read => $read_tool,)+
                    $(Self::$write)|+ => None,
                    $(Self::$local => $local_tool,)+
                }
            }
        }
    };
}

commands! {
    asks {
        ProductsGet "products.get" "/product" Some("products_get"),
        ProductsCompare "products.compare" "/product" Some("products_compare"),
        ProductsSearch "products.search" "/search" None,
        CategoriesGet "categories.get" "/category" None,
        CategoriesSearch "categories.search" "/search" Some("categories_search"),
        CategoriesProducts "categories.products" "/bestsellers" Some("categories_products"),
        FinderQuery "finder.query" "/query" Some("finder_query"),
        DealsQuery "deals.query" "/deal" Some("deals_query"),
        SellersGet "sellers.get" "/seller" Some("sellers_get"),
        BestsellersGet "bestsellers.get" "/bestsellers" Some("bestsellers_get"),
        TopsellersList "topsellers.list" "/topseller" Some("topsellers_list"),
        LightningdealsList "lightningdeals.list" "/lightningdeal" None,
        GraphsImage "graphs.image" "/graphimage" None,
        HistoryExport "history.export" "/product" None,
        HistoryTrend "history.trend" "/product" None,
        TokensStatus "tokens.status" "/token" None,
        TokensPlan "tokens.plan" "/token" None,
        TrackingList "tracking.list" "/tracking" Some("tracking_list"),
        TrackingListNames "tracking.list-names" "/tracking" Some("tracking_list_names"),
        TrackingGet "tracking.get" "/tracking" Some("tracking_get"),
        TrackingNotifications "tracking.notifications" "/tracking" Some("tracking_notifications"),
        ChartsRender "charts.render" "/product" None,
        RequestGet "request.get" "" None,
    }
    changes {
        TrackingAdd "tracking.add" "/tracking",
        TrackingRemove "tracking.remove" "/tracking",
        TrackingRemoveAll "tracking.remove-all" "/tracking",
        TrackingWebhook "tracking.webhook" "/tracking",
    }
    stays {
        CategoriesFinderSelection "categories.finder-selection" Some("categories_finder_selection"),
        WorkflowPlan "workflow.plan" Some("workflow_plan"),
        ResearchGraphMerge "research_graph.merge" Some("research_graph_merge"),
        ResearchBriefExport "research_brief.export" Some("research_brief_export"),
        DocsIndex "docs.index" Some("docs_index"),
        DocsRead "docs.read" Some("docs_read"),
        ContextPolicy "context.policy" Some("context_policy"),
        ResearchTargetResolve "research.target.resolve" Some("resolve_research_target"),
        ResearchContextQuery "research.context.query" Some("query_research_context"),
        AuditCost "audit.cost" Some("audit_cost"),
        CassettesSanitize "cassettes.sanitize" Some("cassettes_sanitize"),
        CassettesPromote "cassettes.promote" Some("cassettes_promote"),
        CassettesPromoteAndVerify "cassettes.promote_and_verify" Some("cassettes_promote_and_verify"),
        ReportsBuild "reports.build" Some("reports_build"),
        BrowseSnapshot "browse.snapshot" Some("browse_snapshot"),
        BatchAsins "batch.asins" None,
        TemplatesList "templates.list" None,
        TemplatesShow "templates.show" None,
        SchemaGenerate "schema.generate" None,
        Capabilities "capabilities" None,
        DomainsList "domains.list" None,
        CacheExplainKey "cache.explain-key" None,
        CacheStats "cache.stats" None,
        CacheClear "cache.clear" None,
        CacheExplain "cache.explain" None,
        CacheInspect "cache.inspect" None,
        CachePruneExpired "cache.prune-expired" None,
    }
}
#[expect(
    clippy::single_component_path_imports,
    reason = "the table makes the macro, and other files need it"
)]
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
        }
        assert_eq!(
            Command::named("tracking.list_names"),
            Some(Command::TrackingListNames)
        );
        assert_eq!(Command::named("products"), None);
    }
}
