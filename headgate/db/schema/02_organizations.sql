-- Organizations, their state and settings, their people, and the processes of the installation.

CREATE TABLE organizations (
    org_id          text COLLATE "C" PRIMARY KEY,
    name            text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    inspected_since timestamptz -- set: the record of another instance, imported for inspection (headgate audit import)
);
CALL isolate_organizations('organizations');
GRANT SELECT, INSERT ON organizations TO headgate_api;
GRANT SELECT ON organizations TO headgate_proxy, headgate_worker, headgate_definer;

-- Each change of a policy, key, agent, allowlist or catalogue raises the generation (semantics.md, "Fresh state").
CREATE TABLE org_state (
    org_id     text COLLATE "C" PRIMARY KEY,
    generation bigint NOT NULL DEFAULT 1
);
CALL isolate_organizations('org_state');
-- The worker raises the generation when a connection breaks: every later decision sees that.
GRANT SELECT, INSERT, UPDATE ON org_state TO headgate_api;
GRANT SELECT ON org_state TO headgate_proxy;
GRANT SELECT, UPDATE ON org_state TO headgate_worker, headgate_definer;

CREATE TABLE users (
    org_id          text COLLATE "C" NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    issuer          text NOT NULL,
    subject         text NOT NULL,
    email           text,
    name            text,
    roles           text[] NOT NULL DEFAULT '{}',
    granted_roles   text[] NOT NULL DEFAULT '{}', -- given by an administrator, beside those that the newest token names
    token_stated_at timestamptz, -- by the newest token seen: an older token, shown again, changes no stored value
    deactivated_at  timestamptz, -- set: this user may not sign in, vote or stand in
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, user_id),
    UNIQUE (org_id, issuer, subject)
);
CREATE INDEX users_by_subject ON users (issuer, subject);
CREATE INDEX users_deactivated ON users (org_id, user_id) WHERE deactivated_at IS NOT NULL;
CALL isolate_organizations('users');
GRANT SELECT, INSERT, UPDATE ON users TO headgate_api;
GRANT SELECT ON users TO headgate_proxy, headgate_worker, headgate_definer;

CREATE TABLE settings (
    org_id     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    version    integer NOT NULL DEFAULT 1,
    document   text NOT NULL, -- canonical JSON
    updated_by text COLLATE "C",
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, name)
);
CALL isolate_organizations('settings');
GRANT SELECT, INSERT, UPDATE ON settings TO headgate_api;
GRANT SELECT ON settings TO headgate_proxy, headgate_worker, headgate_definer;

-- All versions of a setting whose history is shown.
CREATE TABLE setting_versions (
    org_id     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    document   text NOT NULL, -- canonical JSON, without secrets
    updated_by text COLLATE "C",
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, name, version)
);
CALL isolate_organizations('setting_versions');
GRANT SELECT, INSERT ON setting_versions TO headgate_api;
GRANT SELECT ON setting_versions TO headgate_worker;

-- One row per process. An execution is orphaned if the heartbeat of its process stops, or no longer covers it.
CREATE TABLE instances (
    instance_id                 text COLLATE "C" PRIMARY KEY,
    kind                        text NOT NULL,
    version                     text NOT NULL, -- of the program
    started_at                  timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at                timestamptz NOT NULL DEFAULT clock_timestamp(),
    oldest_in_flight_started_at timestamptz -- null: no execution in flight
);
GRANT SELECT ON instances TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON instances TO headgate_definer;
