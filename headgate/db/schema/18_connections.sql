-- Connections: credentials of other platforms, which Headgate adds to a call after the decision. The secrets are in
-- vault_secrets, as connection/<id>. This table is what people and decisions may see.

CREATE TABLE connections (
    org_id            text COLLATE "C" NOT NULL,
    connection_id     text COLLATE "C" NOT NULL,
    name              text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'), -- hg_placeholder_<name>
    platform          text COLLATE "C" NOT NULL CHECK (length(platform) BETWEEN 1 AND 64),
    kind              text COLLATE "C" NOT NULL,
    status            text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'active', 'broken')),
    status_reason     text CHECK (length(status_reason) <= 500),
    hosts             text[] NOT NULL CHECK (cardinality(hosts) BETWEEN 1 AND 32), -- host:port, https only
    place             text NOT NULL, -- canonical JSON: where the credential goes
    agents            text[] NOT NULL CHECK (cardinality(agents) <= 1000), -- '*': all
    tools             text[] NOT NULL CHECK (cardinality(tools) <= 1000),
    needs_placeholder boolean NOT NULL DEFAULT false,
    account           text CHECK (length(account) <= 320),
    account_since     timestamptz NOT NULL, -- earlier approvals and grants are for another account
    scopes            text[] NOT NULL DEFAULT '{}',
    settings          text NOT NULL DEFAULT '{}', -- canonical JSON without secrets
    revision          integer NOT NULL DEFAULT 1, -- raised by each change by a person, and when the connection breaks
    secret_version    integer NOT NULL DEFAULT 0, -- raised by each new secret, refreshed or not
    expires_at        timestamptz, -- of the current credential
    refresh_at        timestamptz, -- when the worker refreshes it
    lease             text COLLATE "C", -- the worker that refreshes it now
    lease_until       timestamptz,
    check_at          timestamptz, -- when the worker checks that it works
    checked_at        timestamptz,
    failures          integer NOT NULL DEFAULT 0, -- consecutive, of refreshing and checking
    owner_id          text COLLATE "C",
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    deleted_at        timestamptz,
    PRIMARY KEY (org_id, connection_id)
);
CREATE UNIQUE INDEX connections_by_name ON connections (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX connections_there ON connections (org_id, connection_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX connections_by_status ON connections (org_id, status, connection_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX connections_by_platform ON connections (org_id, platform, connection_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX connections_refresh ON connections (refresh_at) WHERE deleted_at IS NULL AND refresh_at IS NOT NULL;
CREATE INDEX connections_check ON connections (check_at) WHERE deleted_at IS NULL AND check_at IS NOT NULL;
CALL isolate_organizations('connections');
GRANT SELECT, INSERT, UPDATE ON connections TO headgate_api;
GRANT SELECT ON connections TO headgate_proxy;
GRANT SELECT, UPDATE ON connections TO headgate_worker, headgate_definer;

-- One row per browser sent to a platform, used once. The verifier is in the vault as oauth/<state hash>.
CREATE TABLE connection_flows (
    org_id        text COLLATE "C" NOT NULL,
    state_hash    text COLLATE "C" NOT NULL,
    connection_id text COLLATE "C" NOT NULL,
    started_by    text COLLATE "C" NOT NULL,
    redirect_uri  text NOT NULL,
    issuer        text,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    used_at       timestamptz,
    PRIMARY KEY (org_id, state_hash)
);
CREATE INDEX connection_flows_by_expiry ON connection_flows (expires_at);
CALL isolate_organizations('connection_flows');
GRANT SELECT, INSERT, UPDATE, DELETE ON connection_flows TO headgate_api;
GRANT SELECT, DELETE ON connection_flows TO headgate_definer;

CREATE TABLE connection_uses (
    org_id        text COLLATE "C" NOT NULL,
    connection_id text COLLATE "C" NOT NULL,
    day           date NOT NULL,
    agent_id      text COLLATE "C" NOT NULL,
    uses          bigint NOT NULL,
    rejected      bigint NOT NULL, -- answered with 401
    last_used_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, connection_id, day, agent_id)
);
CALL isolate_organizations('connection_uses');
GRANT SELECT ON connection_uses TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON connection_uses TO headgate_definer;
