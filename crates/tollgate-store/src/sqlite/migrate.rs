//! The shape of the database, as steps that only go forward.

use rusqlite::Connection;

use crate::error::OpenError;

/// One step per version; a released step is never edited.
pub(crate) const STEPS: &[&str] = &[
    include_str!("../migrations/1.sql"),
    include_str!("../migrations/2.sql"),
    include_str!("../migrations/3.sql"),
    include_str!("../migrations/4.sql"),
    include_str!("../migrations/5.sql"),
    include_str!("../migrations/6.sql"),
    include_str!("../migrations/7.sql"),
    include_str!("../migrations/8.sql"),
    include_str!("../migrations/9.sql"),
    include_str!("../migrations/10.sql"),
];

/// Every step in order, for the contract.
pub fn schema_sql() -> String {
    STEPS
        .iter()
        .enumerate()
        .map(|(index, step)| format!("-- version {}\n{step}", index + 1))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The version the file has; 0 is an empty one.
pub(crate) fn version(connection: &Connection) -> Result<u32, OpenError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses what a later release wrote.
pub(crate) fn check(found: u32, steps: &[&str]) -> Result<(), OpenError> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(OpenError::TooNew { found, known });
    }
    Ok(())
}

/// Brings the file to the last of `steps`; the caller holds the lock.
pub(crate) fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<(), OpenError> {
    let found = version(connection)?;
    check(found, steps)?;
    for (step, next) in steps.iter().zip(1_u32..).skip(found as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", next)?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{settings::Limits, sqlite::open};

    const FIRST: &str = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1)";
    const SECOND: &str = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 2";
    const BROKEN: &str = "CREATE TABLE c (x); INSERT INTO absent VALUES (1)";

    fn connection(directory: &tempfile::TempDir) -> Connection {
        open::writer(directory.path(), &Limits::default()).unwrap()
    }

    #[test]
    fn a_file_of_an_earlier_version_keeps_what_it_has() {
        let directory = tempfile::tempdir().unwrap();
        migrate(&mut connection(&directory), &[FIRST]).unwrap();
        let mut connection = connection(&directory);
        for _ in 0..2 {
            migrate(&mut connection, &[FIRST, SECOND]).unwrap();
            assert_eq!(version(&connection).unwrap(), 2);
        }
        let row: (i64, i64) = connection
            .query_row("SELECT x, y FROM a", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(row, (1, 2));
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = connection(&directory);
        migrate(&mut connection, &[FIRST, BROKEN]).unwrap_err();
        assert_eq!(version(&connection).unwrap(), 1);
        migrate(&mut connection, &[FIRST, SECOND]).unwrap();
    }

    #[test]
    fn a_file_of_a_later_version_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = connection(&directory);
        migrate(&mut connection, &[FIRST, SECOND]).unwrap();
        let refused = migrate(&mut connection, &[FIRST]).unwrap_err();
        assert!(matches!(refused, OpenError::TooNew { found: 2, known: 1 }));
    }

    #[test]
    fn entries_of_the_second_version_can_be_found() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = connection(&directory);
        migrate(&mut connection, &STEPS[..2]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO audit_head VALUES ('main', 700, x'00', 0, 0);
                 WITH RECURSIVE numbers (n) AS
                     (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 700)
                 INSERT INTO audit_entries SELECT n, 'main', x'00', n, 'ending', 'call-' || n,
                     'trace-' || (n % 7), 'user', CASE WHEN n % 2 THEN 'odd' END, 'tool', 'ok', '{}'
                 FROM numbers",
            )
            .unwrap();
        migrate(&mut connection, STEPS).unwrap();
        let indexed: i64 = connection
            .query_row("SELECT indexed FROM audit_head", [], |row| row.get(0))
            .unwrap();
        assert_eq!(indexed, 700);
        assert_eq!(
            crate::sqlite::index::lost(&connection, (1, 700)).unwrap(),
            []
        );
    }

    #[test]
    fn every_step_has_its_place_in_the_schema() {
        assert!(schema_sql().starts_with("-- version 1\n"));
        assert_eq!(schema_sql().matches("-- version ").count(), STEPS.len());
    }
}
