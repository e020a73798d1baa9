-- Agents and API keys.

CREATE TABLE agents (
    org_id              text COLLATE "C" NOT NULL,
    agent_id            text COLLATE "C" NOT NULL,
    name                text NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    description         text CHECK (length(description) <= 1024),
    status              text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'deactivated')),
    status_reason       text CHECK (length(status_reason) <= 500),
    owner               text CHECK (length(owner) BETWEEN 1 AND 320),
    tags                text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 32),
    requests_per_minute integer CHECK (requests_per_minute BETWEEN 1 AND 100000), -- null: the quota of the class
    open_approvals      integer CHECK (open_approvals BETWEEN 1 AND 10000), -- null: the default
    created_by          text COLLATE "C",
    created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Words for prefix search. ASCII punctuation separates words, here and in a query.
    words               tsvector GENERATED ALWAYS AS (to_tsvector('simple', translate(
                    name || ' ' || coalesce(description, ''), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)))) STORED,
    PRIMARY KEY (org_id, agent_id)
);
CREATE INDEX agents_by_word ON agents USING gin (words) WITH (fastupdate = off);
CREATE INDEX agents_by_tag ON agents USING gin (tags) WITH (fastupdate = off);
CREATE INDEX agents_by_status ON agents (org_id, status, agent_id);
CREATE INDEX agents_by_owner ON agents (org_id, owner, agent_id) WHERE owner IS NOT NULL;
CALL isolate_organizations('agents');
GRANT SELECT, INSERT, UPDATE ON agents TO headgate_api;
GRANT SELECT ON agents TO headgate_proxy, headgate_worker, headgate_definer;

CREATE TABLE api_keys (
    org_id       text COLLATE "C" NOT NULL,
    key_id       text COLLATE "C" NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('agent', 'admin', 'webhook')),
    agent_id     text COLLATE "C",
    user_id      text COLLATE "C",
    name         text,
    display      text NOT NULL, -- the first characters, so that people recognize the key
    key_hash     bytea NOT NULL CHECK (octet_length(key_hash) = 32),
    scopes       text[] NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    reminded_at  timestamptz, -- when the worker reminded of its age or its end; once per key
    PRIMARY KEY (org_id, key_id),
    CHECK ((kind = 'agent') = (agent_id IS NOT NULL))
);
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);
CREATE INDEX api_keys_by_display ON api_keys (org_id, display);
CREATE INDEX api_keys_revoked ON api_keys (org_id, key_id) WHERE revoked_at IS NOT NULL;
CREATE INDEX api_keys_by_agent ON api_keys (org_id, agent_id, key_id);
-- Keys that somebody should replace.
CREATE INDEX api_keys_to_remind_by_age ON api_keys (created_at) WHERE revoked_at IS NULL AND reminded_at IS NULL;
CREATE INDEX api_keys_to_remind_by_end ON api_keys (expires_at) WHERE revoked_at IS NULL AND reminded_at IS NULL;
CREATE INDEX api_keys_by_user ON api_keys (org_id, user_id) WHERE revoked_at IS NULL;
-- Lists, in the order of age. The filter columns are key columns, not INCLUDE columns: an index condition costs a third of
-- a filter. An index on coalesce(expires_at, …) is of no use: behind row-level security it is no index condition.
CREATE INDEX api_keys_not_revoked ON api_keys (org_id, key_id, expires_at) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_kind ON api_keys (org_id, kind, key_id, revoked_at, expires_at);
-- A key that is old and still works has a longer lifetime than the default: few keys.
CREATE INDEX api_keys_long_lived ON api_keys (org_id, key_id) INCLUDE (expires_at, created_at)
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at - created_at > interval '90 days');
CALL isolate_organizations('api_keys');
GRANT SELECT, INSERT, UPDATE ON api_keys TO headgate_api;
-- The worker reads what the reminder says of a key, never its hash.
GRANT SELECT (org_id, key_id, kind, agent_id, created_at, expires_at, revoked_at, reminded_at), UPDATE (reminded_at)
    ON api_keys TO headgate_worker;
GRANT SELECT, UPDATE (last_used_at) ON api_keys TO headgate_definer;
