//! Whatever is done to the log behind the store's back, `verify` finds.

use rusqlite::{Connection, types::Value};
use tollgate_core::{
    audit::{AuditEntry, Hash, link},
    store::Durability,
};

use crate::world::{World, entries, verify, write_rows};

const ROWS: u64 = 5;

async fn written() -> World {
    let world = World::new();
    let store = world.open();
    write_rows(&store, ROWS).await;
    drop(store);
    let found = verify(&world).await;
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.rows, found.anchored), (ROWS, Some(ROWS)));
    world
}

/// Changes, checks that it is noticed at `place`, and changes back.
async fn notice(world: &World, table: &str, column: &str, place: &str) {
    let sql = world.sql();
    let read = format!("SELECT {column} FROM {table} WHERE seq = 5");
    let value: Value = sql.query_row(&read, [], |row| row.get(0)).unwrap();
    for changed in tampered(&value) {
        let update = format!("UPDATE {table} SET {column} = ?1 WHERE seq = ?2");
        let back = match (&changed, column) {
            (Value::Integer(seq), "seq") => *seq,
            _ => 5,
        };
        sql.execute(&update, (&changed, 5)).unwrap();
        let problems = verify(world).await.problems;
        assert!(
            problems.iter().any(|problem| problem.contains(place)),
            "{table}.{column} as {changed:?}: {problems:?}"
        );
        sql.execute(&update, (&value, back)).unwrap();
    }
    assert_eq!(verify(world).await.problems, [""; 0]);
}

/// Every way to change one byte of a short value, some of a long one.
fn tampered(value: &Value) -> Vec<Value> {
    let flipped = |bytes: &[u8]| -> Vec<Vec<u8>> {
        (0..bytes.len())
            .map(|at| {
                let mut bytes = bytes.to_vec();
                bytes[at] ^= 1;
                bytes
            })
            .collect()
    };
    match value {
        Value::Null => vec![Value::Text("x".to_owned())],
        Value::Integer(number) => [1 << 4, 1 << 9, 1 << 40]
            .map(|bit| Value::Integer(number ^ bit))
            .to_vec(),
        Value::Blob(bytes) => flipped(bytes).into_iter().map(Value::Blob).collect(),
        Value::Text(text) => flipped(text.as_bytes())
            .into_iter()
            .filter_map(|bytes| String::from_utf8(bytes).ok())
            .map(Value::Text)
            .collect(),
        Value::Real(_) => unreachable!("no table has reals"),
    }
}

#[tokio::test]
async fn a_changed_byte_in_any_column_of_a_row_is_noticed() {
    let world = written().await;
    let columns = [
        "seq",
        "chain",
        "hash",
        "at",
        "kind",
        "call_id",
        "trace_id",
        "principal",
        "session",
        "tool",
        "status",
        "body",
    ];
    for column in columns {
        notice(&world, "audit_entries", column, "row 5").await;
    }
}

#[tokio::test]
async fn a_changed_byte_in_the_head_or_a_signature_is_noticed() {
    let world = written().await;
    for column in ["chain", "seq", "hash"] {
        notice(&world, "audit_head", column, "head").await;
    }
    for column in ["seq", "chain", "hash", "key", "signature"] {
        notice(&world, "audit_signed_heads", column, "signed head").await;
    }
}

#[tokio::test]
async fn a_missing_swapped_or_inserted_row_is_noticed() {
    let cases = [
        ("DELETE FROM audit_entries WHERE seq = 3", "row 3"),
        ("DELETE FROM audit_entries WHERE seq = 1", "row 1"),
        ("DELETE FROM audit_entries WHERE seq = 5", "head"),
        (
            "UPDATE audit_entries SET seq = -seq WHERE seq IN (2, 3);
             UPDATE audit_entries SET seq = 5 + seq WHERE seq < 0",
            "row 2",
        ),
        (
            "INSERT INTO audit_entries SELECT 0, chain, hash, at, kind, call_id, trace_id,
                 principal, session, tool, status, body, arguments, data
                 FROM audit_entries WHERE seq = 1",
            "row 1",
        ),
        (
            "INSERT INTO audit_entries SELECT 6, chain, hash, at, kind, call_id, trace_id,
                 principal, session, tool, status, body, arguments, data
                 FROM audit_entries WHERE seq = 5",
            "row 6",
        ),
        ("DELETE FROM audit_entries", "head"),
        ("DELETE FROM audit_head", "head"),
        (
            "UPDATE audit_entries SET body = CAST(x'ff' AS TEXT) WHERE seq = 2",
            "row 2",
        ),
    ];
    for (sql, place) in cases {
        let world = written().await;
        world.sql().execute_batch(sql).unwrap();
        let problems = verify(&world).await.problems;
        assert!(
            problems.iter().any(|problem| problem.contains(place)),
            "{sql}: {problems:?}"
        );
    }
}

#[tokio::test]
async fn a_chain_cut_back_to_a_whole_shorter_one_is_noticed_by_the_anchor() {
    let world = written().await;
    cut_back(&world.sql(), 3);
    let problems = verify(&world).await.problems;
    assert_eq!(problems, ["anchor at 5: the chain ends before it, at 3"]);
    // Nor does writing on hide it.
    let store = world.open();
    write_rows(&store, 4).await;
    drop(store);
    let problems = verify(&world).await.problems;
    assert_eq!(problems, ["row 5: the anchor says another hash"]);
}

#[tokio::test]
async fn a_chain_written_anew_without_the_key_is_noticed() {
    let world = written().await;
    let sql = world.sql();
    let mut previous: Hash = [0; 32];
    for seq in 1..=ROWS {
        let body = format!("{{\"seq\":{seq}}}");
        let entry = AuditEntry::new(body.clone());
        previous = link(&previous, "main", seq, entry.content());
        sql.execute(
            "UPDATE audit_entries SET hash = ?2, body = ?3, at = 0, kind = '', call_id = NULL,
                 trace_id = NULL, principal = NULL, session = NULL, tool = NULL, status = NULL
             WHERE seq = ?1",
            (seq.cast_signed(), previous, body),
        )
        .unwrap();
    }
    sql.execute("UPDATE audit_head SET hash = ?1", [previous])
        .unwrap();
    sql.execute(
        "UPDATE audit_signed_heads SET hash = ?1 WHERE seq = 5",
        [previous],
    )
    .unwrap();
    let problems = verify(&world).await.problems;
    assert!(problems.contains(&"row 5: the anchor says another hash".to_owned()));
    assert!(problems.contains(&"signed head 5: its signature is not ours".to_owned()));
}

#[tokio::test]
async fn a_changed_anchor_is_noticed_and_never_overwritten() {
    let world = written().await;
    let path = world.path("anchor/main.json");
    let text = std::fs::read_to_string(&path).unwrap();
    for changed in [
        text.replace("\"seq\":5", "\"seq\":4"),
        text.replace("\"chain\":\"main\"", "\"chain\":\"mein\""),
        "nonsense".to_owned(),
    ] {
        std::fs::write(&path, &changed).unwrap();
        let problems = verify(&world).await.problems;
        assert!(
            problems.iter().any(|problem| problem.contains("anchor")),
            "{changed}: {problems:?}"
        );
    }
    let store = world.open();
    write_rows(&store, 3).await;
    drop(store);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "nonsense");
}

#[tokio::test]
async fn a_chain_that_grows_past_its_anchor_is_whole() {
    let world = written().await;
    let anchor = std::fs::read(world.path("anchor/main.json")).unwrap();
    let store = world.open();
    let batch = entries([6, 7], Durability::Disk);
    tollgate_core::Store::commit(&store, batch).await.unwrap();
    drop(store);
    std::fs::write(world.path("anchor/main.json"), anchor).unwrap();
    let found = verify(&world).await;
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.rows, found.anchored), (7, Some(5)));
}

#[tokio::test]
async fn the_row_of_the_head_is_written_with_signatures_and_never_ahead_of_the_chain() {
    let world = written().await;
    let noted = |world: &World| -> i64 {
        let sql = "SELECT seq FROM audit_head";
        world.sql().query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(noted(&world), 5);
    // Between two signatures the last entry alone says where the chain ends.
    let sql = world.sql();
    sql.execute(
        "UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_entries WHERE seq = 3)",
        [],
    )
    .unwrap();
    assert_eq!(verify(&world).await.problems, [""; 0]);
    let store = world.open();
    let batch = entries([6], Durability::Disk);
    let receipt = tollgate_core::Store::commit(&store, batch).await.unwrap();
    assert_eq!(receipt.places[0].seq, 6);
    drop(store);
    assert_eq!(noted(&world), 6);
    assert_eq!(verify(&world).await.problems, [""; 0]);
    sql.execute("UPDATE audit_head SET seq = 7", []).unwrap();
    let problems = verify(&world).await.problems;
    assert_eq!(
        problems,
        ["head: it says the chain reaches 7, the rows end at 6"]
    );
}

/// What an attacker who knows the format, but has no key, can do best.
fn cut_back(sql: &Connection, last: u64) {
    let last = last.cast_signed();
    sql.execute("DELETE FROM audit_entries WHERE seq > ?1", [last])
        .unwrap();
    sql.execute("DELETE FROM audit_signed_heads WHERE seq > ?1", [last])
        .unwrap();
    sql.execute(
        "UPDATE audit_head SET seq = ?1,
             hash = (SELECT hash FROM audit_entries WHERE seq = ?1)",
        [last],
    )
    .unwrap();
}

#[tokio::test]
async fn an_entry_that_can_no_longer_be_found_is_noticed() {
    let cases = [
        (
            "DELETE FROM audit_index WHERE entry = 7 AND field = 0",
            "call_id",
        ),
        (
            "DELETE FROM audit_segments WHERE segment = 0 AND field = 1",
            "session",
        ),
        (
            "UPDATE audit_segments SET value = 'other' WHERE segment = 0 AND field = 2",
            "tool",
        ),
        ("DELETE FROM audit_traces WHERE entry = 7", "trace_id"),
        (
            "DELETE FROM audit_index WHERE entry = 300; UPDATE audit_head SET indexed = 300",
            "call_id",
        ),
    ];
    for (sql, column) in cases {
        let world = World::new();
        write_rows(&world.open(), 300).await;
        assert_eq!(verify(&world).await.problems, Vec::<String>::new());
        world.sql().execute_batch(sql).unwrap();
        let problems = verify(&world).await.problems;
        let found = format!("it cannot be found by its {column}");
        assert!(
            problems.iter().any(|problem| problem.ends_with(&found)),
            "{sql}: {problems:?}"
        );
    }
}
