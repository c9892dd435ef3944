//! Puts the layers together.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    Config, PolicyFile, PolicyScope, Source, SourceRole,
    env::Environment,
    error::{ConfigError, Notice, Origin},
    files,
    keys::raw::RawConfig,
    layer::{self, Layer, Setting},
    narrow::{self, narrow},
    overrides::{self, Override},
    trust::{Project, Standing, TrustStore},
};

/// What the command line says about the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--config FILE`: this file instead of the user's and the project's.
    pub config: Option<PathBuf>,
    /// Flags that set a key.
    pub overrides: Vec<Override>,
}

/// Everything that was read, before it means something.
pub(super) struct Layers {
    pub merged: Layer,
    /// The project's policy files, which may only forbid.
    pub project_policies: Option<Setting>,
    pub user_policies: Vec<PathBuf>,
    pub sources: Vec<Source>,
    pub notices: Vec<Notice>,
}

impl Config {
    /// Reads every layer and resolves them; on failure, all problems at once.
    pub fn load(environment: &Environment, flags: &Flags) -> Result<Self, Vec<ConfigError>> {
        let mut errors = Vec::new();
        let layers = Layers::read(environment, flags, &mut errors);
        // Layers hold only values that fit, so what they leave is worth checking too.
        let resolved = layers
            .raw()
            .and_then(|raw| Self::resolve(raw, layers, environment));
        match resolved {
            Ok(config) if errors.is_empty() => Ok(config),
            Ok(_) => Err(errors),
            Err(more) => {
                errors.extend(more);
                Err(errors)
            }
        }
    }
}

impl Layers {
    fn read(environment: &Environment, flags: &Flags, errors: &mut Vec<ConfigError>) -> Self {
        let mut layers = Self {
            merged: Layer::default(),
            project_policies: None,
            user_policies: Vec::new(),
            sources: Vec::new(),
            notices: Vec::new(),
        };
        match named_file(environment, flags) {
            Some(file) if !file.exists() => errors.push(absent(&file, environment)),
            Some(file) => {
                layers.add_file(&file, SourceRole::Named, environment, errors);
                // A file that a variable names is what the environment says.
                if flags.config.is_none() {
                    let wider = narrow::take_wider_dialogs(&Layer::default(), &mut layers.merged);
                    errors.extend(wider.map(|it| wider_in_environment(it, environment)));
                }
            }
            None => layers.add_found(environment, errors),
        }
        match files::user_policies(environment) {
            Ok(found) => layers.user_policies = found,
            Err(error) => {
                let folder = environment.config_dir().unwrap_or_default();
                let origin = Origin::file(&folder.join("policies"));
                errors.push(ConfigError::new(origin, format!("cannot be read: {error}")));
            }
        }
        let mut variables = overrides::from_environment(environment, errors);
        let wider = narrow::take_wider_dialogs(&layers.merged, &mut variables);
        errors.extend(wider.map(|it| wider_in_environment(it, environment)));
        layers.merged.extend(variables);
        let flags = overrides::from_flags(&flags.overrides, environment, errors);
        layers.merged.extend(flags);
        layers
    }

    /// The user's file, and the project's over it.
    fn add_found(&mut self, environment: &Environment, errors: &mut Vec<ConfigError>) {
        if let Some(file) = files::user_file(environment).filter(|file| file.is_file()) {
            self.add_file(&file, SourceRole::User, environment, errors);
        }
        let Some(file) = files::project_file(environment) else {
            return;
        };
        let Some((text, mut layer)) = read_layer(&file, environment, errors) else {
            return;
        };
        self.notices.append(&mut layer.notices);
        let dir = file.parent().unwrap_or(Path::new("/"));
        let project = Project { dir, text, layer };
        let standing =
            match TrustStore::of_user(environment).and_then(|pins| pins.standing(&project)) {
                Ok(standing) => standing,
                Err(error) => {
                    self.notices.push(Notice {
                        origin: Origin::file(&file),
                        key: None,
                        message: format!("treated as untrusted: {error}"),
                    });
                    Standing::Unknown
                }
            };
        let mut layer = project.layer;
        self.project_policies = layer.take(&["policy", "files"]);
        if let Some(wider) = narrow::take_wider_dialogs(&self.merged, &mut layer) {
            let (message, hint) = narrow::wider_dialogs(&wider, "a project", environment);
            self.notices.push(Notice {
                origin: wider.origin,
                key: Some(narrow::DIALOGS.join(".")),
                message: format!("ignored: {message}; {hint}"),
            });
        }
        let allowed = match standing {
            Standing::Trusted => layer,
            Standing::Changed | Standing::Unknown => {
                let (kept, notices) = narrow(&self.merged, &layer, dir, standing);
                self.notices.extend(notices);
                kept
            }
        };
        self.merged.extend(allowed);
        self.sources.push(Source {
            path: file,
            role: SourceRole::Project(standing),
        });
    }

    fn add_file(
        &mut self,
        file: &Path,
        role: SourceRole,
        environment: &Environment,
        errors: &mut Vec<ConfigError>,
    ) {
        if let Some((_, mut layer)) = read_layer(file, environment, errors) {
            self.notices.append(&mut layer.notices);
            self.merged.extend(layer);
        }
        let path = file.to_owned();
        self.sources.push(Source { path, role });
    }

    fn raw(&self) -> Result<RawConfig, Vec<ConfigError>> {
        self.merged
            .over_defaults()
            .and_then(RawConfig::deserialize)
            .map_err(|error| vec![ConfigError::new(Origin::Defaults, error.message())])
    }

    /// Who said the value of a key.
    pub(super) fn origin(&self, path: &[&str]) -> Origin {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        let setting = self.merged.settings.get(&path);
        setting.map_or(Origin::Defaults, |setting| setting.origin.clone())
    }

    /// Every policy file in the order it is loaded, with who named it.
    pub(super) fn policies(&self, configured: Vec<PathBuf>) -> Vec<(PolicyFile, Origin)> {
        let named = self.origin(&["policy", "files"]);
        let user = self.user_policies.iter().cloned();
        let user = user.map(|path| (path.clone(), Origin::file(&path)));
        let full = user.chain(configured.into_iter().map(|path| (path, named.clone())));
        let full = full.map(|(path, origin)| (path, PolicyScope::Full, origin));
        let of_project = self.project_policies.iter().flat_map(|setting| {
            let paths = layer::paths(&setting.value).into_iter();
            paths.map(|path| (path, PolicyScope::Restricting, setting.origin.clone()))
        });
        full.chain(of_project)
            .map(|(path, scope, origin)| (PolicyFile { path, scope }, origin))
            .collect()
    }
}

fn named_file(environment: &Environment, flags: &Flags) -> Option<PathBuf> {
    let variable = || overrides::config_file(environment).map(PathBuf::from);
    let file = flags.config.clone().or_else(variable)?;
    Some(environment.current_dir.join(file))
}

fn wider_in_environment(wider: Setting, environment: &Environment) -> ConfigError {
    let (message, hint) = narrow::wider_dialogs(&wider, "the environment", environment);
    let error = ConfigError::new(wider.origin, message).at(narrow::DIALOGS.join("."));
    error.hint(hint)
}

/// A configuration that was named and is not there.
fn absent(file: &Path, environment: &Environment) -> ConfigError {
    let usual = files::user_file(environment);
    let usual = usual.map_or_else(
        || "leave `--config` and TOLLGATE_CONFIG out".to_owned(),
        |usual| {
            format!(
                "create it, or leave `--config` and TOLLGATE_CONFIG out to use {}",
                usual.display()
            )
        },
    );
    ConfigError::new(Origin::file(file), "there is no such file").hint(usual)
}

fn read_layer(
    file: &Path,
    environment: &Environment,
    errors: &mut Vec<ConfigError>,
) -> Option<(String, Layer)> {
    match files::read(file) {
        Ok(text) => {
            let layer = Layer::parse(&text, file, environment, errors);
            Some((text, layer))
        }
        Err(error) => {
            errors.push(error);
            None
        }
    }
}
