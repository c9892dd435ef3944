-- Bodies are found by call through a table that is filled for many of them at once, as
-- entries are, so that a body alone writes no page for it. Those after `bodies` of the
-- head are looked at one by one.
ALTER TABLE audit_head ADD COLUMN bodies INTEGER NOT NULL DEFAULT 0;
DROP INDEX bodies_by_call;

CREATE TABLE body_index (
    call TEXT NOT NULL,
    body INTEGER NOT NULL,
    PRIMARY KEY (call, body)
) STRICT, WITHOUT ROWID;

INSERT INTO body_index (call, body) SELECT call, id FROM bodies ORDER BY call, id;
UPDATE audit_head SET bodies = (SELECT coalesce(max(id), 0) FROM bodies);
