//! The state folder as somebody with a database tool would get at it.

use rusqlite::Connection;

use super::TestEnv;

/// The database itself, past every guard.
#[expect(
    clippy::disallowed_methods,
    reason = "tests tamper with the file the way an intruder would"
)]
pub(crate) fn database(env: &TestEnv) -> Connection {
    let connection = Connection::open(env.state_dir().join("tollgate.db")).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    connection
}
