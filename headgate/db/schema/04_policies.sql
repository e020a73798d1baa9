-- Rule policies and content policies, the documents that policies read, and reports of what a policy would decide.

-- A rule policy. The row is the current version. policy_versions keeps all versions that ever decided.
CREATE TABLE policies (
    org_id      text COLLATE "C" NOT NULL,
    policy_id   text COLLATE "C" NOT NULL,
    version     integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    description text CHECK (length(description) <= 1000),
    rego_policy text NOT NULL,
    rules       text, -- the camelCase rules that the Rego was generated from, if any
    cases       text NOT NULL DEFAULT '[]', -- its test cases, a canonical JSON array
    mode        text NOT NULL DEFAULT 'enforce' CHECK (mode IN ('enforce', 'shadow')),
    enabled     boolean NOT NULL DEFAULT true,
    priority    integer NOT NULL DEFAULT 100 CHECK (priority BETWEEN 0 AND 1000),
    -- Why the policy is not evaluated: it was running when a process died (semantics.md, "Combining and voting").
    quarantine  text,
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at  timestamptz,
    PRIMARY KEY (org_id, policy_id)
);
CALL isolate_organizations('policies');
GRANT SELECT, INSERT, UPDATE ON policies TO headgate_api;
GRANT SELECT ON policies TO headgate_proxy, headgate_worker;
GRANT SELECT, UPDATE (quarantine) ON policies TO headgate_definer;

CREATE TABLE policy_versions (
    org_id        text COLLATE "C" NOT NULL,
    policy_id     text COLLATE "C" NOT NULL,
    version       integer NOT NULL,
    name          text NOT NULL,
    description   text,
    rego_policy   text NOT NULL,
    rules         text,
    cases         text NOT NULL DEFAULT '[]',
    mode          text NOT NULL DEFAULT 'enforce',
    enabled       boolean NOT NULL,
    priority      integer NOT NULL,
    change        text NOT NULL DEFAULT 'created' CHECK (change IN ('created', 'updated', 'deleted', 'restored')),
    note          text CHECK (length(note) <= 1000),
    actor         text, -- canonical JSON {type, id, name?}
    restored_from integer,
    created_by    text COLLATE "C",
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, policy_id, version)
);
CALL isolate_organizations('policy_versions');
GRANT SELECT, INSERT ON policy_versions TO headgate_api;
GRANT SELECT ON policy_versions TO headgate_proxy, headgate_worker;

-- Data documents (path a.b is data.a.b) and modules (path x is package lib.x).
CREATE TABLE policy_documents (
    org_id     text COLLATE "C" NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('data', 'module')),
    path       text COLLATE "C" NOT NULL,
    version    integer NOT NULL CHECK (version >= 1),
    content    text NOT NULL, -- canonical JSON, or Rego
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (org_id, kind, path)
);
CALL isolate_organizations('policy_documents');
GRANT SELECT, INSERT, UPDATE ON policy_documents TO headgate_api;
GRANT SELECT ON policy_documents TO headgate_proxy, headgate_worker;

CREATE TABLE policy_document_versions (
    org_id     text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    path       text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    change     text NOT NULL CHECK (change IN ('created', 'updated', 'deleted', 'restored')),
    content    text NOT NULL,
    note       text CHECK (length(note) <= 1000),
    actor      text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, kind, path, version)
);
CALL isolate_organizations('policy_document_versions');
GRANT SELECT, INSERT ON policy_document_versions TO headgate_api;

-- A content policy. As with rule policies, the row is the current version, and all versions are kept.
CREATE TABLE nlp_policies (
    org_id     text COLLATE "C" NOT NULL,
    policy_id  text COLLATE "C" NOT NULL,
    version    integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    enabled    boolean NOT NULL,
    document   text NOT NULL, -- canonical JSON: the rest of the policy
    created_by text COLLATE "C",
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    PRIMARY KEY (org_id, policy_id)
);
CALL isolate_organizations('nlp_policies');
GRANT SELECT, INSERT, UPDATE ON nlp_policies TO headgate_api;
GRANT SELECT ON nlp_policies TO headgate_proxy, headgate_worker;

CREATE TABLE nlp_policy_versions (
    org_id     text COLLATE "C" NOT NULL,
    policy_id  text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    name       text NOT NULL,
    enabled    boolean NOT NULL,
    document   text NOT NULL,
    created_by text COLLATE "C",
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, policy_id, version)
);
CALL isolate_organizations('nlp_policy_versions');
GRANT SELECT, INSERT ON nlp_policy_versions TO headgate_api;
GRANT SELECT ON nlp_policy_versions TO headgate_proxy, headgate_worker;

-- How often a shadow policy agreed with the decision. said: its decision, "none" if it made none.
CREATE TABLE shadow_counts (
    org_id    text COLLATE "C" NOT NULL,
    policy_id text COLLATE "C" NOT NULL,
    version   integer NOT NULL,
    said      text NOT NULL,
    decided   text NOT NULL,
    would     text NOT NULL, -- the decision if the policy were enforced
    calls     bigint NOT NULL,
    first_at  timestamptz NOT NULL,
    last_at   timestamptz NOT NULL,
    PRIMARY KEY (org_id, policy_id, version, said, decided, would)
);
CALL isolate_organizations('shadow_counts');
GRANT SELECT ON shadow_counts TO headgate_api;
GRANT SELECT, INSERT, UPDATE ON shadow_counts TO headgate_definer;

CREATE TABLE policy_replays (
    org_id     text COLLATE "C" NOT NULL,
    replay_id  text COLLATE "C" NOT NULL,
    created_by text NOT NULL, -- canonical JSON {type, id, name?}
    created_at timestamptz NOT NULL,
    report     text NOT NULL, -- canonical JSON
    PRIMARY KEY (org_id, replay_id)
);
CALL isolate_organizations('policy_replays');
GRANT SELECT, INSERT ON policy_replays TO headgate_api;

-- The last replay that each person started on a page of the dashboard, and how far it is.
CREATE TABLE policy_replay_runs (
    org_id      text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    run         text COLLATE "C" NOT NULL, -- whose process writes here
    told_at     timestamptz NOT NULL, -- a run that has told nothing for long has ended with its process
    done        bigint NOT NULL DEFAULT 0,
    total       bigint NOT NULL DEFAULT 0,
    finished_at timestamptz,
    report      text, -- JSON, as the API answers it
    failure     text,
    PRIMARY KEY (org_id, user_id)
);
CALL isolate_organizations('policy_replay_runs');
GRANT SELECT, INSERT, UPDATE ON policy_replay_runs TO headgate_api;
