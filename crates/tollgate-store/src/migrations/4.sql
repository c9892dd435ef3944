-- Runs that only wait for somebody's answer, and so take nobody's place.
CREATE TABLE resting_runs (
    run TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
