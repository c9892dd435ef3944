-- Whether text that reads like instructions may be in an artifact. Of those before, only
-- what no run has left is known to be a stranger's.
ALTER TABLE artifacts ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0;
UPDATE artifacts SET tainted = 1 WHERE run = '';
