-- The Merkle tree over each organization's chain, its signed checkpoints, and attestations of others. The database is not
-- trusted: a checkpoint's signature is verified with a key that the database does not hold, everything else against that
-- checkpoint.

-- The state of the tree. frontier: roots of the complete subtrees, largest first. head_hash: hash of the last leaf's record,
-- which the next event must name as its predecessor. problem: why no checkpoint can be signed.
CREATE TABLE audit_trees (
    org_id        text COLLATE "C" PRIMARY KEY,
    size          bigint NOT NULL CHECK (size >= 0),
    frontier      bytea NOT NULL,
    head_hash     bytea NOT NULL CHECK (octet_length(head_hash) = 32),
    -- The checkpoint keys that the audit log named last. They change on a machine, without the database, and each log says so
    -- once (headgate.evidence.key_chronicle). Null: it named none yet.
    signing_keys  text[] COLLATE "C",
    problem       text,
    problem_since timestamptz,
    updated_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CALL isolate_organizations('audit_trees');
GRANT SELECT ON audit_trees TO headgate_api, headgate_definer;
GRANT SELECT, INSERT, UPDATE ON audit_trees TO headgate_worker;

-- Up to 32 concatenated hashes per row (headgate.evidence.tiles). Hashes do not compress.
CREATE TABLE audit_tiles (
    org_id text COLLATE "C" NOT NULL,
    level  smallint NOT NULL CHECK (level >= 0),
    tile   bigint NOT NULL CHECK (tile >= 0),
    hashes bytea STORAGE EXTERNAL NOT NULL CHECK (octet_length(hashes) BETWEEN 32 AND 1024 AND octet_length(hashes) % 32 = 0),
    PRIMARY KEY (org_id, level, tile)
) WITH (fillfactor = 90);
CALL isolate_organizations('audit_tiles');
GRANT SELECT ON audit_tiles TO headgate_api;
GRANT SELECT, INSERT, UPDATE ON audit_tiles TO headgate_worker;

CREATE TABLE audit_checkpoints (
    org_id     text COLLATE "C" NOT NULL,
    size       bigint NOT NULL CHECK (size > 0),
    note       text NOT NULL, -- C2SP signed note, the exact bytes
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, size)
);
CREATE INDEX audit_checkpoints_by_time ON audit_checkpoints (org_id, created_at);
CALL isolate_organizations('audit_checkpoints');
GRANT SELECT ON audit_checkpoints TO headgate_api, headgate_definer;
GRANT SELECT, INSERT ON audit_checkpoints TO headgate_worker;

-- Attestations of a checkpoint: a witness's signature line, or an RFC 3161 response in base64.
CREATE TABLE audit_attestations (
    org_id     text COLLATE "C" NOT NULL,
    size       bigint NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('cosignature', 'timestamp')),
    name       text COLLATE "C" NOT NULL,
    document   text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, size, kind, name)
);
CALL isolate_organizations('audit_attestations');
GRANT SELECT ON audit_attestations TO headgate_api, headgate_definer;
GRANT SELECT, INSERT ON audit_attestations TO headgate_worker;

-- Progress of each target of the checkpoint export, and since when it fails.
CREATE TABLE audit_exports (
    org_id        text COLLATE "C" NOT NULL,
    target        text COLLATE "C" NOT NULL,
    size          bigint NOT NULL DEFAULT 0, -- of the last checkpoint exported
    exported_at   timestamptz,
    failing_since timestamptz,
    failure       text,
    failures      integer NOT NULL DEFAULT 0,
    retry_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    alarmed_at    timestamptz,
    PRIMARY KEY (org_id, target)
);
CALL isolate_organizations('audit_exports');
GRANT SELECT ON audit_exports TO headgate_api, headgate_definer;
GRANT SELECT, INSERT, UPDATE ON audit_exports TO headgate_worker;

-- The last verification of each log that somebody asked for to be done in the background, and how far it is.
CREATE TABLE audit_verifications (
    org_id      text COLLATE "C" PRIMARY KEY,
    run         text COLLATE "C" NOT NULL, -- whose process writes here
    started_by  text NOT NULL,
    started_at  timestamptz NOT NULL,
    told_at     timestamptz NOT NULL, -- a run that has told nothing for long has ended with its process
    events      bigint NOT NULL,
    verified    bigint NOT NULL DEFAULT 0,
    finished_at timestamptz,
    result      text, -- JSON, as the API answers it
    failure     text
);
CALL isolate_organizations('audit_verifications');
GRANT SELECT, INSERT, UPDATE ON audit_verifications TO headgate_api;
