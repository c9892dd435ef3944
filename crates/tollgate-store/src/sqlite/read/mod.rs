//! The small ways to read, over SQLite.

mod audit;
mod consent;
mod memory;
mod runs;

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row};
use tollgate_core::store::StoreError;

use crate::error::store_error;

/// What a row of a record says: SQLite's answer around the record's own.
type Content<T> = rusqlite::Result<Result<T, StoreError>>;

/// The first row.
fn one<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnOnce(&Row<'_>) -> Content<T>,
) -> Result<Option<T>, StoreError> {
    prepare(connection, sql)?
        .query_row(parameters, read)
        .optional()
        .map_err(store_error)?
        .transpose()
}

/// Every row.
fn all<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnMut(&Row<'_>) -> Content<T>,
) -> Result<Vec<T>, StoreError> {
    let rows: Vec<_> = prepare(connection, sql)?
        .query_map(parameters, read)
        .and_then(Iterator::collect)
        .map_err(store_error)?;
    rows.into_iter().collect()
}

fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<CachedStatement<'c>, StoreError> {
    connection.prepare_cached(sql).map_err(store_error)
}
