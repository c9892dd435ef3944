//! Running code: three tools around `tollgate-sandbox`.
//!
//! The crate confines; this folder translates. A conversation is a session, and a session
//! has one workspace that is kept between calls.
//!
//! Invariant: what cannot be confined as the settings ask is not run.

#[cfg(target_os = "linux")]
mod files;
mod language;
mod settings;
#[cfg(target_os = "linux")]
mod tools;
#[cfg(target_os = "linux")]
mod work;

use async_trait::async_trait;
use tollgate_core::{
    Answer, CallContext, Health, Provider, ProviderError, SessionKey, ToolCall, ToolSpec,
};

pub use language::Language;
pub use settings::Settings;
pub use tollgate_sandbox::{Choice, Limits, Tier};
#[cfg(target_os = "linux")]
pub use tollgate_sandbox::{end, give_back_program, helper};

/// Does nothing here: there are no helpers to be.
#[cfg(not(target_os = "linux"))]
pub fn helper() -> Option<std::process::ExitCode> {
    None
}

/// What works on this machine, and why the rest does not.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Each tier, the best first: what limits its runs, or why it does not work.
    pub tiers: Vec<(Tier, Result<String, String>)>,
    /// The tier that runs are given, or why there is none.
    pub chosen: Result<Tier, String>,
    /// Each language: its interpreter, or why there is none.
    pub languages: Vec<(Language, Result<String, String>)>,
}

/// Tries every tier and looks for every language.
pub fn survey(settings: &Settings) -> Survey {
    let languages = Language::ALL.map(|language| {
        let state = match language.find() {
            None => Err(language.missing()),
            Some(_) if !settings.languages.contains(&language) => Err("turned off".to_owned()),
            Some(path) => Ok(path.display().to_string()),
        };
        (language, state)
    });
    let (tiers, chosen) = tiers(settings);
    Survey {
        tiers,
        chosen,
        languages: languages.to_vec(),
    }
}

type Tiers = Vec<(Tier, Result<String, String>)>;

#[cfg(target_os = "linux")]
fn tiers(settings: &Settings) -> (Tiers, Result<Tier, String>) {
    let runners = work::runners(settings);
    let all = runners.survey().into_iter();
    let all = all.map(|standing| (standing.tier, standing.state));
    let chosen = runners.choose(settings.choice, settings.least);
    let chosen = chosen.map(|runner| runner.tier());
    (all.collect(), chosen.map_err(|refused| refused.to_string()))
}

#[cfg(not(target_os = "linux"))]
fn tiers(_: &Settings) -> (Tiers, Result<Tier, String>) {
    (
        Vec::new(),
        Err("sandboxes are built on Linux only".to_owned()),
    )
}

/// Offers `sandbox.*`.
pub fn provider(settings: Settings) -> impl Provider {
    Sandbox {
        #[cfg(target_os = "linux")]
        tools: settings.is_enabled.then(|| tools::all(&settings)),
        settings,
    }
}

struct Sandbox {
    settings: Settings,
    #[cfg(target_os = "linux")]
    tools: Option<tollgate_core::ToolSet<work::Work>>,
}

#[async_trait]
impl Provider for Sandbox {
    fn id(&self) -> &str {
        "sandbox"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        #[cfg(target_os = "linux")]
        if let Some(tools) = &self.tools {
            return tools.tools().await;
        }
        Ok(Vec::new())
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        #[cfg(target_os = "linux")]
        if let Some(tools) = &self.tools {
            return tools.serve(call, cx).await;
        }
        drop(cx);
        let message = format!("`{}` is not offered here", call.tool);
        Err(ProviderError::not_found(message))
    }

    async fn preview(
        &self,
        call: &ToolCall,
        _cx: &CallContext,
    ) -> Result<Option<String>, ProviderError> {
        #[cfg(target_os = "linux")]
        if self.tools.is_some() {
            tools::possible(&self.settings, call)?;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = call;
        Ok(None)
    }

    async fn leave(&self, conversation: &SessionKey) {
        #[cfg(target_os = "linux")]
        if self.tools.is_some() {
            work::leave(&self.settings.root, conversation).await;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = conversation;
    }

    async fn health(&self) -> Health {
        if !self.settings.is_enabled {
            return Health::Ready;
        }
        let settings = self.settings.clone();
        let looked = tokio::task::spawn_blocking(move || survey(&settings));
        match looked.await.map(|survey| survey.chosen) {
            Ok(Ok(_)) => Health::Ready,
            Ok(Err(why)) => Health::Degraded(why),
            Err(error) => Health::Degraded(error.to_string()),
        }
    }
}
