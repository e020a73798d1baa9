-- NLP policies: like rule policies, the row is the current version, and every version that ever decided stays.

CREATE TABLE nlp_policies (
    org_id      text COLLATE "C" NOT NULL,
    policy_id   text COLLATE "C" NOT NULL,
    version     integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    enabled     boolean NOT NULL,
    document    text NOT NULL, -- canonical JSON: everything else that the policy says
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at  timestamptz,
    PRIMARY KEY (org_id, policy_id)
);

CREATE TABLE nlp_policy_versions (
    org_id      text COLLATE "C" NOT NULL,
    policy_id   text COLLATE "C" NOT NULL,
    version     integer NOT NULL,
    name        text NOT NULL,
    enabled     boolean NOT NULL,
    document    text NOT NULL,
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, policy_id, version)
);

-- Secrets of organizations, encrypted by headgate.vault: a data key each, under a master key that is not here.
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

CALL isolate_organizations('nlp_policies');
CALL isolate_organizations('nlp_policy_versions');
CALL isolate_organizations('vault_secrets');
-- Whoever reads the record has no use for ciphertexts.
REVOKE SELECT ON vault_secrets FROM headgate_auditor;

GRANT SELECT ON nlp_policies, nlp_policy_versions, vault_secrets TO headgate_api, headgate_proxy, headgate_worker;
GRANT INSERT, UPDATE ON nlp_policies TO headgate_api;
GRANT INSERT ON nlp_policy_versions TO headgate_api;
GRANT INSERT, UPDATE, DELETE ON vault_secrets TO headgate_api;
