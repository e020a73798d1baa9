-- Request and response bodies, kept as long as needed (docs/decisions/0022-erase-bodies-keep-the-hash-chain.md). The chain
-- stays. A kept body is encrypted with a key of its own, and erased with that key.

-- One data key per body, wrapped by a master key that is not in the database. Small, so that long-term backups can leave it
-- out: without its rows a copy of kept_bodies is unreadable.
CREATE TABLE body_keys (
    org_id      text COLLATE "C" NOT NULL,
    action_id   text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,31}(/[A-Za-z0-9_-]{1,64})?$'),
    key_id      text COLLATE "C" NOT NULL,
    wrapped_key bytea NOT NULL,
    PRIMARY KEY (org_id, action_id, kind)
);
CALL isolate_organizations('body_keys', auditor_reads => false);
GRANT SELECT ON body_keys TO headgate_api;
GRANT SELECT, UPDATE (key_id, wrapped_key) ON body_keys TO headgate_worker;
GRANT SELECT, INSERT, DELETE ON body_keys TO headgate_definer;

CREATE TABLE kept_bodies (
    org_id     text COLLATE "C" NOT NULL,
    action_id  text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    made_at    timestamptz NOT NULL, -- time of the action: selects the monthly partition
    ciphertext bytea STORAGE EXTERNAL NOT NULL, -- ciphertexts do not compress
    PRIMARY KEY (org_id, action_id, kind, made_at)
) PARTITION BY RANGE (made_at);
CREATE TABLE kept_bodies_rest PARTITION OF kept_bodies DEFAULT;
CALL isolate_organizations('kept_bodies', auditor_reads => false);
GRANT SELECT ON kept_bodies TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, DELETE ON kept_bodies TO headgate_definer;

-- Progress of each task: the last action processed (identifiers sort by time).
CREATE TABLE retention_progress (
    org_id    text COLLATE "C" NOT NULL,
    task      text COLLATE "C" NOT NULL CHECK (task ~ '^[a-z][a-z_]{0,31}$'),
    action_id text COLLATE "C" NOT NULL,
    looked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, task)
);
CALL isolate_organizations('retention_progress');
GRANT SELECT ON retention_progress TO headgate_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON retention_progress TO headgate_worker;

-- Actions that a task skipped because they were not at rest or under a legal hold, and processes again.
CREATE TABLE retention_waiting (
    org_id    text COLLATE "C" NOT NULL,
    task      text COLLATE "C" NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, task, action_id)
);
CALL isolate_organizations('retention_waiting');
GRANT SELECT ON retention_waiting TO headgate_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON retention_waiting TO headgate_worker;
GRANT SELECT, INSERT ON retention_waiting TO headgate_definer;

CREATE TABLE legal_holds (
    org_id      text COLLATE "C" NOT NULL,
    hold_id     text COLLATE "C" NOT NULL,
    scope       text NOT NULL CHECK (scope IN ('organization', 'agent', 'action')),
    target      text COLLATE "C", -- agent or action id
    reason      text NOT NULL,
    placed_by   text NOT NULL,
    placed_at   timestamptz NOT NULL,
    lifted_by   text,
    lifted_at   timestamptz,
    lift_reason text,
    PRIMARY KEY (org_id, hold_id),
    CHECK ((scope = 'organization') = (target IS NULL)),
    CHECK ((lifted_at IS NULL) = (lift_reason IS NULL) AND (lifted_at IS NULL) = (lifted_by IS NULL))
);
CREATE INDEX legal_holds_in_force ON legal_holds (org_id) WHERE lifted_at IS NULL;
CALL isolate_organizations('legal_holds');
GRANT SELECT, INSERT, UPDATE (lifted_by, lifted_at, lift_reason) ON legal_holds TO headgate_api;
GRANT SELECT ON legal_holds TO headgate_worker, headgate_definer;
