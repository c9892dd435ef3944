-- version 1
-- The record. A row's body is the truth; the columns after it are derived.
CREATE TABLE audit_entries (
    seq INTEGER PRIMARY KEY,
    chain TEXT NOT NULL,
    hash BLOB NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    call_id TEXT,
    trace_id TEXT,
    principal TEXT,
    session TEXT,
    tool TEXT,
    status TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_call ON audit_entries (call_id);
-- Trace ids are random: the leading segment keeps an insert near the last one,
-- whatever the size of the log. A search asks each segment in turn.
CREATE INDEX audit_by_trace ON audit_entries (seq >> 8, trace_id);
CREATE INDEX audit_by_session ON audit_entries (session);
CREATE INDEX audit_by_tool ON audit_entries (tool);

-- The end of the chain, in one row with the other numbers that only grow: how
-- often sessions were used, and how often provider state was written.
CREATE TABLE audit_head (
    chain TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    uses INTEGER NOT NULL,
    versions INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_signed_heads (
    seq INTEGER PRIMARY KEY,
    chain TEXT NOT NULL,
    hash BLOB NOT NULL,
    key BLOB NOT NULL,
    signature BLOB NOT NULL
) STRICT;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    handle TEXT NOT NULL,
    budget INTEGER,
    profile TEXT,
    estimated INTEGER NOT NULL,
    consumed INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    cache_hits INTEGER NOT NULL,
    source TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL,
    has_blocked INTEGER NOT NULL,
    UNIQUE (principal, handle)
) STRICT;

CREATE TABLE blocked_actions (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    action TEXT NOT NULL
) STRICT;
CREATE INDEX blocked_by_session ON blocked_actions (session);

CREATE TABLE intents (
    call TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    principal TEXT NOT NULL,
    handle TEXT NOT NULL,
    tool TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    reserved INTEGER NOT NULL,
    effect INTEGER NOT NULL,
    digest BLOB,
    idempotency_key TEXT,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE effects (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    call TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    handle TEXT NOT NULL,
    digest BLOB,
    idempotency_key TEXT,
    at INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    answer BLOB
) STRICT;
CREATE INDEX effects_by_digest ON effects (digest) WHERE digest IS NOT NULL;
CREATE UNIQUE INDEX effects_by_key ON effects (principal, handle, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX effects_by_age ON effects (at) WHERE idempotency_key IS NULL;

CREATE TABLE approvals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    tool TEXT NOT NULL,
    spec_digest TEXT NOT NULL,
    principal TEXT NOT NULL,
    handle TEXT NOT NULL,
    preview TEXT NOT NULL,
    estimate TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    consumed_by TEXT,
    consumed_at INTEGER
) STRICT;
CREATE INDEX approvals_by_digest ON approvals (digest);
CREATE INDEX approvals_by_state ON approvals (state);

CREATE TABLE grants (
    principal TEXT NOT NULL,
    handle TEXT NOT NULL,
    scope TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (principal, handle, scope)
) STRICT, WITHOUT ROWID;

-- `slot` is the head of a digest over the whole key: small, so that its index is.
CREATE TABLE cache (
    id INTEGER PRIMARY KEY,
    slot INTEGER NOT NULL UNIQUE,
    until INTEGER,
    at INTEGER NOT NULL,
    principal TEXT NOT NULL,
    handle TEXT NOT NULL,
    key TEXT NOT NULL,
    binding TEXT NOT NULL,
    answer BLOB NOT NULL
) STRICT;
CREATE INDEX cache_by_session ON cache (handle, principal);

CREATE TABLE reviews (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    item TEXT NOT NULL
) STRICT;
CREATE INDEX reviews_by_status ON reviews (status);

CREATE TABLE bodies (
    id INTEGER PRIMARY KEY,
    call TEXT NOT NULL,
    at INTEGER NOT NULL,
    arguments TEXT,
    data TEXT
) STRICT;
CREATE INDEX bodies_by_call ON bodies (call);

CREATE TABLE credentials (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    label TEXT,
    scopes TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER
) STRICT;

CREATE TABLE provider_states (
    namespace TEXT NOT NULL,
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    until INTEGER,
    value BLOB NOT NULL,
    PRIMARY KEY (namespace, principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX provider_states_by_end ON provider_states (until) WHERE until IS NOT NULL;

-- version 2
-- Runs of templates. `sealed` is what a run was given; it is gone once the run is over.
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    handle TEXT NOT NULL,
    template TEXT NOT NULL,
    status TEXT NOT NULL,
    over INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    owner TEXT,
    fence INTEGER NOT NULL,
    canceled INTEGER NOT NULL,
    record BLOB NOT NULL,
    sealed BLOB
) STRICT;
-- Only what is not over is looked for by its owner, so the index stays small.
CREATE INDEX runs_open ON runs (owner, number) WHERE over = 0;
CREATE INDEX runs_by_principal ON runs (principal, number);
CREATE INDEX runs_by_status ON runs (principal, status, number);

CREATE TABLE run_steps (
    run INTEGER NOT NULL,
    name TEXT NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

-- What runs left behind; the content is a file of that name elsewhere.
CREATE TABLE artifacts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    created INTEGER NOT NULL,
    until INTEGER,
    gone INTEGER NOT NULL
) STRICT;
CREATE INDEX artifacts_by_run ON artifacts (run, number);
CREATE INDEX artifacts_by_end ON artifacts (until) WHERE gone = 0 AND until IS NOT NULL;

-- version 3
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

-- version 4
-- Runs that only wait for somebody's answer, and so take nobody's place.
CREATE TABLE resting_runs (
    run TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- version 5
-- Whether text that reads like instructions may be in an artifact. Of those before, only
-- what no run has left is known to be a stranger's.
ALTER TABLE artifacts ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0;
UPDATE artifacts SET tainted = 1 WHERE run = '';

-- version 6
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

-- version 7
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

-- version 8
-- What replay needs of a call lies with its entry if it is small, so that a lone commit
-- writes one page and not two. It is no part of the record: no hash covers it, and it is
-- forgotten like the others. Entries up to `bare` of the head have none any more.
ALTER TABLE audit_entries ADD COLUMN arguments TEXT;
ALTER TABLE audit_entries ADD COLUMN data TEXT;
ALTER TABLE audit_head ADD COLUMN bare INTEGER NOT NULL DEFAULT 0;
UPDATE audit_head SET bare = coalesce((SELECT max(seq) FROM audit_entries), 0);

-- version 9
-- What a state is known by, beside its content: the random id of its chain, the epoch it is in,
-- and whether it has an anchor that must not vanish. `probes` counts commits that only ask
-- whether commits work.
ALTER TABLE audit_head ADD COLUMN chain_id BLOB;
ALTER TABLE audit_head ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;
ALTER TABLE audit_head ADD COLUMN is_anchored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit_head ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;

-- version 10
-- Questions that wait for a human are counted, and what they show, before another is added.
-- One that has ended undecided shows nothing any more, and is in this index no longer.
ALTER TABLE approvals ADD COLUMN preview_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET preview_bytes = length(CAST(preview AS BLOB)) WHERE state = 'pending';
CREATE INDEX approvals_waiting ON approvals (expires, principal, preview_bytes)
    WHERE state = 'pending' AND preview_bytes > 0;
