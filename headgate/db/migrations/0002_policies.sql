-- Rule policies. The row is the current version; every version that ever decided stays in policy_versions.

CREATE TABLE policies (
    org_id      text COLLATE "C" NOT NULL,
    policy_id   text COLLATE "C" NOT NULL,
    version     integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    description text CHECK (length(description) <= 1000),
    rego_policy text NOT NULL,
    enabled     boolean NOT NULL DEFAULT true,
    priority    integer NOT NULL DEFAULT 100 CHECK (priority BETWEEN 0 AND 1000),
    -- Why the policy is not evaluated any more: it was running when a process died (semantics.md, "Combining and voting").
    quarantine  text,
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at  timestamptz,
    PRIMARY KEY (org_id, policy_id)
);

CREATE TABLE policy_versions (
    org_id      text COLLATE "C" NOT NULL,
    policy_id   text COLLATE "C" NOT NULL,
    version     integer NOT NULL,
    name        text NOT NULL,
    description text,
    rego_policy text NOT NULL,
    enabled     boolean NOT NULL,
    priority    integer NOT NULL,
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, policy_id, version)
);

CALL isolate_organizations('policies');
CALL isolate_organizations('policy_versions');

GRANT SELECT ON policies, policy_versions TO headgate_api, headgate_proxy, headgate_worker;
GRANT INSERT, UPDATE ON policies TO headgate_api;
GRANT INSERT ON policy_versions TO headgate_api;
GRANT SELECT ON policies TO headgate_definer;
GRANT UPDATE (quarantine) ON policies TO headgate_definer;
GRANT UPDATE ON org_state TO headgate_definer;
