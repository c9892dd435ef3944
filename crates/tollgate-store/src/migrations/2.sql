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
