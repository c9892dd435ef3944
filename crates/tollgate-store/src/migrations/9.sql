-- What a state is known by, beside its content: the random id of its chain, the epoch it is in,
-- and whether it has an anchor that must not vanish. `probes` counts commits that only ask
-- whether commits work.
ALTER TABLE audit_head ADD COLUMN chain_id BLOB;
ALTER TABLE audit_head ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;
ALTER TABLE audit_head ADD COLUMN is_anchored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit_head ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
