-- Verifying holds the tables that lists show against the events of both kinds: those that are sealed, and those that are
-- not yet (row-level security shows each organization its own). The API may read what it may append.
GRANT SELECT ON audit_inbox TO headgate_api;
