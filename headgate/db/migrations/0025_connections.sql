-- Connections: credentials of other platforms that Headgate adds to calls after they were decided. The secrets are in
-- vault_secrets, as connection/<id>; here is what people and decisions may see of them.

CREATE TABLE connections (
    org_id           text COLLATE "C" NOT NULL,
    connection_id    text COLLATE "C" NOT NULL,
    name             text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'), -- hg_placeholder_<name>
    platform         text COLLATE "C" NOT NULL CHECK (length(platform) BETWEEN 1 AND 64),
    kind             text COLLATE "C" NOT NULL,
    status           text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'active', 'broken')),
    status_reason    text CHECK (length(status_reason) <= 500),
    hosts            text[] NOT NULL CHECK (cardinality(hosts) BETWEEN 1 AND 32), -- host:port, https only
    place            text NOT NULL, -- canonical JSON: where the credential goes
    agents           text[] NOT NULL CHECK (cardinality(agents) <= 1000), -- '*': all
    tools            text[] NOT NULL CHECK (cardinality(tools) <= 1000),
    needs_placeholder boolean NOT NULL DEFAULT false,
    account          text CHECK (length(account) <= 320),
    scopes           text[] NOT NULL DEFAULT '{}',
    settings         text NOT NULL DEFAULT '{}', -- canonical JSON without secrets
    revision         integer NOT NULL DEFAULT 1, -- moves with every change by a person, and when it breaks
    secret_version   integer NOT NULL DEFAULT 0, -- moves with every new secret, refreshed ones too
    expires_at       timestamptz, -- of the credential that is used now
    refresh_at       timestamptz, -- when the worker gets another
    lease            text COLLATE "C", -- who is getting another now
    lease_until      timestamptz,
    check_at         timestamptz, -- when the worker looks whether it works
    checked_at       timestamptz,
    failures         integer NOT NULL DEFAULT 0, -- in a row, of refreshing and checking
    owner_id         text COLLATE "C",
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    deleted_at       timestamptz,
    PRIMARY KEY (org_id, connection_id)
);
CREATE UNIQUE INDEX connections_by_name ON connections (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX connections_there ON connections (org_id, connection_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX connections_by_status ON connections (org_id, status, connection_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX connections_by_platform ON connections (org_id, platform, connection_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX connections_refresh ON connections (refresh_at) WHERE deleted_at IS NULL AND refresh_at IS NOT NULL;
CREATE INDEX connections_check ON connections (check_at) WHERE deleted_at IS NULL AND check_at IS NOT NULL;

-- One row a browser that was sent to a platform; used once. The verifier is in the vault, as oauth/<state hash>.
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

CALL isolate_organizations('connections');
CALL isolate_organizations('connection_flows');
CALL isolate_organizations('connection_uses');

GRANT SELECT ON connections TO headgate_api, headgate_proxy, headgate_worker;
GRANT INSERT, UPDATE ON connections TO headgate_api;
GRANT UPDATE ON connections TO headgate_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON connection_flows TO headgate_api;
GRANT SELECT ON connection_uses TO headgate_api, headgate_worker;
GRANT INSERT, UPDATE ON vault_secrets TO headgate_worker;
-- A connection that breaks is seen by every decision from then on.
GRANT UPDATE ON org_state TO headgate_worker;
GRANT SELECT, UPDATE ON connections TO headgate_definer;
GRANT SELECT, DELETE ON connection_flows TO headgate_definer;
GRANT SELECT, INSERT, UPDATE ON connection_uses TO headgate_definer;

-- What processes have counted since they last told; a rejected credential is looked at soon.
CREATE FUNCTION count_connection_uses(p_org text[], p_connection text[], p_agent text[], p_uses bigint[], p_rejected bigint[], p_at timestamptz)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO connection_uses AS u (org_id, connection_id, day, agent_id, uses, rejected, last_used_at)
    SELECT t.org_id, t.connection_id, (p_at AT TIME ZONE 'UTC')::date, t.agent_id, t.uses, t.rejected, p_at
    FROM unnest(p_org, p_connection, p_agent, p_uses, p_rejected) AS t(org_id, connection_id, agent_id, uses, rejected)
    WHERE EXISTS (SELECT FROM connections c WHERE c.org_id = t.org_id AND c.connection_id = t.connection_id)
    ORDER BY t.org_id, t.connection_id, t.agent_id
    ON CONFLICT (org_id, connection_id, day, agent_id) DO UPDATE
        SET uses = u.uses + excluded.uses, rejected = u.rejected + excluded.rejected,
            last_used_at = greatest(u.last_used_at, excluded.last_used_at);
    UPDATE connections c SET check_at = least(c.check_at, p_at)
    FROM unnest(p_org, p_connection, p_rejected) AS t(org_id, connection_id, rejected)
    WHERE c.org_id = t.org_id AND c.connection_id = t.connection_id AND t.rejected > 0 AND c.check_at IS NOT NULL;
$$;
CALL hand_to_definer('count_connection_uses', ARRAY['proxy', 'worker']);

CREATE FUNCTION connections_due(p_at timestamptz, p_limit integer) RETURNS TABLE (org_id text, connection_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
    (SELECT c.org_id, c.connection_id FROM connections c
     WHERE c.deleted_at IS NULL AND c.refresh_at <= p_at AND (c.lease_until IS NULL OR c.lease_until <= p_at)
     ORDER BY c.refresh_at LIMIT p_limit)
    UNION
    (SELECT c.org_id, c.connection_id FROM connections c
     WHERE c.deleted_at IS NULL AND c.check_at <= p_at ORDER BY c.check_at LIMIT p_limit)
$$;
CALL hand_to_definer('connections_due', ARRAY['worker']);

CREATE FUNCTION forget_connection_flows(p_before timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    forgotten integer;
BEGIN
    WITH old AS (DELETE FROM connection_flows f WHERE f.expires_at < p_before RETURNING f.org_id, f.state_hash),
         gone AS (DELETE FROM vault_secrets v USING old WHERE v.org_id = old.org_id AND v.name = 'oauth/' || old.state_hash)
    SELECT count(*) INTO forgotten FROM old;
    RETURN forgotten;
END $$;
CALL hand_to_definer('forget_connection_flows', ARRAY['worker']);
