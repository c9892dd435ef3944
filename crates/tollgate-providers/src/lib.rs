//! One folder per source of tools. To add one: its `mod` line, and its line in the
//! table below.

#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_core::Provider;

mod beneath;
pub mod browser;
pub mod builtin;
pub mod conformance;
pub mod docs;
mod escape;
pub mod files;
#[doc(hidden)]
pub mod fuzzing;
pub mod keepa;
pub mod knowledge;
pub mod sandbox;
pub mod stub;
pub mod upstream;
pub mod web;

macro_rules! providers {
    ($($name:ident),* $(,)?) => {
        /// What each provider needs to start, straight from the resolved config.
        #[derive(Debug, Clone, Default)]
        pub struct Settings {
            $(
                #[doc = concat!("Settings of `", stringify!($name), "`.")]
                pub $name: $name::Settings,
            )*
            /// Other people's servers.
            pub upstream: upstream::Settings,
            /// What stands in for other tools.
            pub stub: stub::Settings,
            /// Whether what the MCP conformance suite looks for is offered as well.
            pub conformance: bool,
        }

        /// Every provider this build knows, beside `others` that are the caller's own.
        pub fn all(settings: Settings, others: &[Arc<dyn Provider>]) -> Vec<Arc<dyn Provider>> {
            let mut all: Vec<Arc<dyn Provider>> =
                vec![$(Arc::new($name::provider(settings.$name)),)*];
            let originals = others.iter().chain(&all).map(Arc::clone).collect();
            all.push(Arc::new(stub::provider(settings.stub, originals)));
            all.extend(upstream::providers(settings.upstream));
            if settings.conformance {
                all.push(Arc::new(conformance::provider()));
            }
            all
        }
    };
}

providers! {
    browser,
    builtin,
    docs,
    files,
    keepa,
    knowledge,
    sandbox,
    web,
}
