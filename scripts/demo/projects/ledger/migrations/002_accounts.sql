CREATE INDEX entries_by_account ON entries (account, day);
