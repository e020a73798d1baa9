-- Secrets of organizations, encrypted by headgate.vault. Each has a data key, wrapped by a master key that is not in the
-- database.
CREATE TABLE vault_secrets (
    org_id      text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    key_id      text COLLATE "C" NOT NULL,
    wrapped_key bytea NOT NULL,
    ciphertext  bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, name)
);
-- For the rotation of master keys: the secrets under each key, over all organizations.
CREATE INDEX vault_secrets_by_key ON vault_secrets (key_id, org_id, name);
CALL isolate_organizations('vault_secrets', auditor_reads => false);
GRANT SELECT, INSERT, UPDATE, DELETE ON vault_secrets TO headgate_api, headgate_worker;
GRANT SELECT ON vault_secrets TO headgate_proxy;
GRANT SELECT, DELETE ON vault_secrets TO headgate_definer;
