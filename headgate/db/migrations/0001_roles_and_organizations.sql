-- Roles, organizations, people, agents, keys, settings, processes.
--
-- Roles (docs/decisions/0003-database-roles.md): each part logs in as its own. headgate_definer logs in
-- nowhere; it owns the SECURITY DEFINER functions, the only way across organizations. Nobody has BYPASSRLS,
-- and tables FORCE row-level security, so that even their owner sees one organization at a time.

DO $$
DECLARE
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['api', 'proxy', 'worker', 'auditor', 'definer'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'headgate_' || part) THEN
            BEGIN
                EXECUTE format('CREATE ROLE headgate_%s NOLOGIN NOBYPASSRLS', part);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- another database of this cluster is being migrated at the same moment
            END;
        END IF;
    END LOOP;
END $$;

-- SET lets the owner hand functions over; without INHERIT the definer's policies do not apply to the owner.
GRANT headgate_definer TO CURRENT_USER WITH INHERIT FALSE, SET TRUE;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO headgate_api, headgate_proxy, headgate_worker, headgate_auditor, headgate_definer;
GRANT CREATE ON SCHEMA public TO headgate_definer;

-- The organization of the current transaction; set by db.database for each (a transaction-local setting,
-- so that a transaction pooler does not carry it over). An unset one matches nothing.
CREATE FUNCTION current_org() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('app.org_id', true), '');

-- Turns row-level security on for a table, with the one policy that all of them share.
CREATE PROCEDURE isolate_organizations(target regclass)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
    EXECUTE format('CREATE POLICY one_organization ON %s USING (org_id = current_org()) WITH CHECK (org_id = current_org())', target);
    EXECUTE format('CREATE POLICY definer_functions ON %s TO headgate_definer USING (true) WITH CHECK (true)', target);
    EXECUTE format('GRANT SELECT ON %s TO headgate_auditor', target);
END $$;

-- Makes a SECURITY DEFINER function headgate_definer's, to be called by these parts and by the migrating role, for
-- which one address may stand for all parts. Rights are given before the owner changes, as only an owner gives
-- them: afterwards a REVOKE by somebody else is a warning, and PUBLIC would keep what every function starts with.
CREATE PROCEDURE hand_to_definer(target regproc, callers text[])
LANGUAGE plpgsql AS $$
DECLARE
    migrating text := current_user;
    caller text;
BEGIN
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', target);
    FOREACH caller IN ARRAY callers LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO headgate_%s', target, caller);
    END LOOP;
    EXECUTE format('ALTER FUNCTION %s OWNER TO headgate_definer', target);
    SET LOCAL ROLE headgate_definer;
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', target, migrating);
    EXECUTE format('SET LOCAL ROLE %I', migrating);
END $$;

CREATE TABLE organizations (
    org_id     text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- generation rises with every change of policy, key, agent, allowlist or catalogue (semantics.md, "Fresh state").
CREATE TABLE org_state (
    org_id     text COLLATE "C" PRIMARY KEY,
    generation bigint NOT NULL DEFAULT 1
);

CREATE TABLE users (
    org_id       text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    issuer       text NOT NULL,
    subject      text NOT NULL,
    email        text,
    name         text,
    roles        text[] NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, user_id),
    UNIQUE (org_id, issuer, subject)
);

CREATE TABLE agents (
    org_id      text COLLATE "C" NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    description text CHECK (length(description) <= 1024),
    status      text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'deactivated')),
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, agent_id)
);

CREATE TABLE api_keys (
    org_id       text COLLATE "C" NOT NULL,
    key_id       text COLLATE "C" NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('agent', 'admin', 'webhook')),
    agent_id     text COLLATE "C",
    user_id      text COLLATE "C",
    name         text,
    display      text NOT NULL, -- the first characters, for people to recognise it by
    key_hash     bytea NOT NULL CHECK (octet_length(key_hash) = 32),
    scopes       text[] NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (org_id, key_id),
    CHECK ((kind = 'agent') = (agent_id IS NOT NULL))
);
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);
CREATE INDEX api_keys_by_agent ON api_keys (org_id, agent_id);

CREATE TABLE settings (
    org_id     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    version    integer NOT NULL DEFAULT 1,
    document   text NOT NULL, -- canonical JSON
    updated_by text COLLATE "C",
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, name)
);

-- One row a process; a heartbeat that stops, or that no longer covers an execution, gives the execution up.
CREATE TABLE instances (
    instance_id                 text COLLATE "C" PRIMARY KEY,
    kind                        text NOT NULL,
    started_at                  timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at                timestamptz NOT NULL DEFAULT clock_timestamp(),
    oldest_in_flight_started_at timestamptz -- null: nothing in flight
);

ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
CALL isolate_organizations('organizations');
CALL isolate_organizations('org_state');
CALL isolate_organizations('users');
CALL isolate_organizations('agents');
CALL isolate_organizations('api_keys');
CALL isolate_organizations('settings');

GRANT SELECT ON organizations, org_state, users, agents, settings TO headgate_api, headgate_proxy, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON users, agents, api_keys, settings TO headgate_api;
GRANT UPDATE ON org_state TO headgate_api;
GRANT SELECT ON organizations, org_state, agents, api_keys TO headgate_definer;
GRANT UPDATE (last_used_at) ON api_keys TO headgate_definer;
GRANT SELECT, INSERT, UPDATE, DELETE ON instances TO headgate_definer;
GRANT SELECT ON instances TO headgate_api, headgate_worker;
