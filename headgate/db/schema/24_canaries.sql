-- Canary tokens: values that no call may hold (docs/decisions/0094-canary-tokens.md). The key of the hashes is in the vault.
CREATE TABLE canaries (
    org_id     text COLLATE "C" NOT NULL,
    canary_id  text COLLATE "C" NOT NULL,
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    lead       text COLLATE "C" NOT NULL CHECK (length(lead) = 4), -- of the value, in lower case
    length     integer NOT NULL CHECK (length BETWEEN 16 AND 256),
    mac        bytea NOT NULL CHECK (octet_length(mac) = 32), -- of the value in lower case
    created_at timestamptz NOT NULL,
    created_by text COLLATE "C",
    revoked_at timestamptz,
    PRIMARY KEY (org_id, canary_id)
);
CREATE INDEX canaries_in_force ON canaries (org_id) WHERE revoked_at IS NULL;
CALL isolate_organizations('canaries');
GRANT SELECT, INSERT, UPDATE (revoked_at) ON canaries TO headgate_api;
GRANT SELECT ON canaries TO headgate_proxy, headgate_worker;
