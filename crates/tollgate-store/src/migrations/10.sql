-- Questions that wait for a human are counted, and what they show, before another is added.
-- One that has ended undecided shows nothing any more, and is in this index no longer.
ALTER TABLE approvals ADD COLUMN preview_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET preview_bytes = length(CAST(preview AS BLOB)) WHERE state = 'pending';
CREATE INDEX approvals_waiting ON approvals (expires, principal, preview_bytes)
    WHERE state = 'pending' AND preview_bytes > 0;
