//! What the configuration does with what people write.

use super::*;

#[test]
fn nothing_written_is_a_configuration() {
    let environment = Environment {
        home: Some("/home/me".into()),
        current_dir: "/".into(),
        ..Environment::default()
    };
    let config = Config::load(&environment, &Flags::default()).unwrap();
    assert_eq!(config.limits.message_bytes, 4 * 1024 * 1024);
    assert_eq!(
        config.state.dir,
        PathBuf::from("/home/me/.local/share/tollgate")
    );
}
