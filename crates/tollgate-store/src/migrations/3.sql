-- What finds entries is filled for many of them at once, so that an entry alone
-- writes no page for it. Entries after `indexed` are looked at one by one.
ALTER TABLE audit_head ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
DROP INDEX audit_by_call;
DROP INDEX audit_by_trace;
DROP INDEX audit_by_session;
DROP INDEX audit_by_tool;

-- `field` is 0 for calls, 1 for sessions, 2 for tools.
CREATE TABLE audit_index (
    field INTEGER NOT NULL,
    value TEXT NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (field, value, entry)
) STRICT, WITHOUT ROWID;

-- Trace ids are random: the leading segment, 256 entries each, keeps an insert
-- near the last one, whatever the size of the log.
CREATE TABLE audit_traces (
    segment INTEGER NOT NULL,
    value TEXT NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (segment, value, entry)
) STRICT, WITHOUT ROWID;

INSERT INTO audit_index (field, value, entry)
    SELECT 0, call_id, seq FROM audit_entries WHERE call_id IS NOT NULL ORDER BY call_id, seq;
INSERT INTO audit_index (field, value, entry)
    SELECT 1, session, seq FROM audit_entries WHERE session IS NOT NULL ORDER BY session, seq;
INSERT INTO audit_index (field, value, entry)
    SELECT 2, tool, seq FROM audit_entries WHERE tool IS NOT NULL ORDER BY tool, seq;
INSERT INTO audit_traces (segment, value, entry)
    SELECT seq >> 8, trace_id, seq FROM audit_entries WHERE trace_id IS NOT NULL
    ORDER BY seq >> 8, trace_id, seq;
UPDATE audit_head SET indexed = seq;
