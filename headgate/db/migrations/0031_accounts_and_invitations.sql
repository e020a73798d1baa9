-- Since when a connection stands for the account that it stands for now: what was approved or granted before was about
-- another one (headgate.connections.account).

ALTER TABLE connections ADD COLUMN account_since timestamptz;
UPDATE connections SET account_since = created_at;
ALTER TABLE connections ALTER COLUMN account_since SET NOT NULL;

-- Invitations are mailed by the worker, while they are open.
GRANT SELECT ON invitations TO headgate_worker;
