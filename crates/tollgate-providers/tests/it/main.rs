//! Provider tests, through the public API only.

#[cfg(test)]
mod browser;
#[cfg(test)]
mod browser_arguments;
#[cfg(test)]
mod browser_edges;
#[cfg(test)]
mod browser_secrets;
#[cfg(test)]
mod browser_sites;
#[cfg(test)]
mod browser_tools;
#[cfg(test)]
mod browser_turns;
#[cfg(test)]
mod browser_views;
#[cfg(test)]
mod builtin;
#[cfg(test)]
mod conformance;
#[cfg(test)]
#[cfg(unix)]
mod docs;
#[cfg(test)]
mod fetched;
#[cfg(test)]
mod keepa;
#[cfg(test)]
mod knowledge;
#[cfg(test)]
mod knowledge_page;
#[cfg(test)]
mod knowledge_versions;
#[cfg(test)]
mod stub;
#[cfg(test)]
mod support;
#[cfg(test)]
mod upstream;
#[cfg(test)]
mod web;
