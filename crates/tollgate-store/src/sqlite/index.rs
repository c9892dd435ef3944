//! What finds entries of the log by call, session, tool and trace.
//!
//! An index that SQLite keeps costs every entry a page or more of its own, which
//! is most of what a lone commit writes. So entries are indexed by the hundred, inside a
//! transaction that signs, which comes every moment and which no answer waits for. What many
//! of them share, a session or a tool, is noted once for the whole segment.
//! Invariant: every entry up to `indexed` of the head can be found here; whoever
//! looks for one reads the entries after it one by one.

use rusqlite::{Connection, params};

/// How many entries share a segment; fewer are not worth indexing.
pub(crate) const SEGMENT_BITS: u32 = 8;
/// The most segments that wait for a transaction that signs.
const WAITING: u64 = 16;

/// A column that entries are found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Call,
    Session,
    Tool,
}

impl Field {
    /// All of them, the most telling first.
    pub(crate) const ALL: [Self; 3] = [Self::Call, Self::Session, Self::Tool];

    /// The column of an entry.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Call => "call_id",
            Self::Session => "session",
            Self::Tool => "tool",
        }
    }

    /// Its number in the index.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Call => 0,
            Self::Session => 1,
            Self::Tool => 2,
        }
    }
}

/// The segment of an entry.
pub(crate) fn segment(seq: u64) -> u64 {
    seq >> SEGMENT_BITS
}

/// Whether enough entries wait for a transaction that signs, or for any other.
pub(crate) fn is_due(indexed: u64, seq: u64, signs: bool) -> bool {
    let waiting = segment(seq).saturating_sub(segment(indexed));
    waiting > if signs { 0 } else { WAITING }
}

/// Indexes the entries after `indexed`, up to `seq`.
pub(crate) fn fill(connection: &Connection, indexed: u64, seq: u64) -> rusqlite::Result<()> {
    let range = params![indexed.cast_signed(), seq.cast_signed()];
    let few = |field: Field| {
        let (number, column) = (field.number(), field.column());
        format!(
            "INSERT OR IGNORE INTO audit_segments (field, value, segment)
             SELECT DISTINCT {number}, {column}, seq >> {SEGMENT_BITS} FROM audit_entries
             WHERE seq > ?1 AND seq <= ?2 AND {column} IS NOT NULL"
        )
    };
    let call = Field::Call.number();
    for sql in [
        format!(
            "INSERT INTO audit_index (field, value, entry)
             SELECT {call}, call_id, seq FROM audit_entries
             WHERE seq > ?1 AND seq <= ?2 AND call_id IS NOT NULL ORDER BY call_id, seq"
        ),
        few(Field::Session),
        few(Field::Tool),
        format!(
            "INSERT INTO audit_traces (segment, value, entry)
             SELECT seq >> {SEGMENT_BITS}, trace_id, seq FROM audit_entries
             WHERE seq > ?1 AND seq <= ?2 AND trace_id IS NOT NULL
             ORDER BY seq >> {SEGMENT_BITS}, trace_id, seq"
        ),
    ] {
        connection.prepare_cached(&sql)?.execute(range)?;
    }
    Ok(())
}

/// Indexes the bodies after `indexed`; says up to which one.
pub(crate) fn fill_bodies(connection: &Connection, indexed: u64) -> rusqlite::Result<u64> {
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM bodies")?
        .query_row([], |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT INTO body_index (call, body)
             SELECT call, id FROM bodies WHERE id > ?1 ORDER BY call, id",
        )?
        .execute([indexed.cast_signed()])?;
    Ok(last.map_or(indexed, i64::cast_unsigned).max(indexed))
}

/// Indexed entries from `first` to `last` that cannot be found, and by what.
pub(crate) fn lost(
    connection: &Connection,
    (first, last): (i64, i64),
) -> rusqlite::Result<Vec<(i64, &'static str)>> {
    let mut lost = Vec::new();
    let mut look = |what: &'static str, sql: &str| -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![first, last])?;
        while let Some(row) = rows.next()? {
            lost.push((row.get(0)?, what));
        }
        Ok(())
    };
    for field in Field::ALL {
        let (number, column) = (field.number(), field.column());
        let (table, place) = match field {
            Field::Call => ("audit_index", "entry = seq".to_owned()),
            Field::Session | Field::Tool => {
                ("audit_segments", format!("segment = seq >> {SEGMENT_BITS}"))
            }
        };
        look(
            column,
            &format!(
                "SELECT seq FROM audit_entries WHERE seq >= ?1 AND seq <= ?2
                 AND {column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {table}
                     WHERE field = {number} AND value = {column} AND {place})"
            ),
        )?;
    }
    look(
        "trace_id",
        &format!(
            "SELECT seq FROM audit_entries WHERE seq >= ?1 AND seq <= ?2
             AND trace_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM audit_traces
                 WHERE segment = seq >> {SEGMENT_BITS} AND value = trace_id AND entry = seq)"
        ),
    )?;
    Ok(lost)
}
