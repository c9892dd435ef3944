-- What replay needs of a call lies with its entry if it is small, so that a lone commit
-- writes one page and not two. It is no part of the record: no hash covers it, and it is
-- forgotten like the others. Entries up to `bare` of the head have none any more.
ALTER TABLE audit_entries ADD COLUMN arguments TEXT;
ALTER TABLE audit_entries ADD COLUMN data TEXT;
ALTER TABLE audit_head ADD COLUMN bare INTEGER NOT NULL DEFAULT 0;
UPDATE audit_head SET bare = coalesce((SELECT max(seq) FROM audit_entries), 0);
