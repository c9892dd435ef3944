-- A session or a tool is named by many entries that stand together: one row says
-- so for a segment of 256, instead of one row for each of them.
CREATE TABLE audit_segments (
    field INTEGER NOT NULL,
    value TEXT NOT NULL,
    segment INTEGER NOT NULL,
    PRIMARY KEY (field, value, segment)
) STRICT, WITHOUT ROWID;

INSERT INTO audit_segments (field, value, segment)
    SELECT DISTINCT field, value, entry >> 8 FROM audit_index WHERE field > 0
    ORDER BY field, value, entry >> 8;
DELETE FROM audit_index WHERE field > 0;
