-- The Merkle tree over each organization's chain, its signed checkpoints, and what others said about them.
-- Nothing here needs to be believed: a checkpoint's signature is checked with a key that the database does not
-- hold, and everything else against that checkpoint.

-- Where the tree stands. frontier: the roots of its complete subtrees, the largest first; head_hash: its last leaf's
-- record, which the next event must name as its predecessor. problem: why no checkpoint can be signed.
CREATE TABLE audit_trees (
    org_id        text COLLATE "C" PRIMARY KEY,
    size          bigint NOT NULL CHECK (size >= 0),
    frontier      bytea NOT NULL,
    head_hash     bytea NOT NULL CHECK (octet_length(head_hash) = 32),
    problem       text,
    problem_since timestamptz,
    updated_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- headgate.evidence.tiles: 32 hashes a row at most, one after the other; hashes do not compress.
CREATE TABLE audit_tiles (
    org_id text COLLATE "C" NOT NULL,
    level  smallint NOT NULL CHECK (level >= 0),
    tile   bigint NOT NULL CHECK (tile >= 0),
    hashes bytea STORAGE EXTERNAL NOT NULL CHECK (octet_length(hashes) BETWEEN 32 AND 1024 AND octet_length(hashes) % 32 = 0),
    PRIMARY KEY (org_id, level, tile)
) WITH (fillfactor = 90);

CREATE TABLE audit_checkpoints (
    org_id     text COLLATE "C" NOT NULL,
    size       bigint NOT NULL CHECK (size > 0),
    note       text NOT NULL, -- C2SP signed note: the exact bytes
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, size)
);
CREATE INDEX audit_checkpoints_by_time ON audit_checkpoints (org_id, created_at);

-- What a witness (a signature line) or a time-stamp authority (an RFC 3161 response in base64) said about one.
CREATE TABLE audit_attestations (
    org_id     text COLLATE "C" NOT NULL,
    size       bigint NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('cosignature', 'timestamp')),
    name       text COLLATE "C" NOT NULL,
    document   text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, size, kind, name)
);

-- How far each target of the checkpoints' export has got, and since when it fails.
CREATE TABLE audit_exports (
    org_id        text COLLATE "C" NOT NULL,
    target        text COLLATE "C" NOT NULL,
    size          bigint NOT NULL DEFAULT 0, -- the last checkpoint that it has
    exported_at   timestamptz,
    failing_since timestamptz,
    failure       text,
    failures      integer NOT NULL DEFAULT 0,
    retry_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    alarmed_at    timestamptz,
    PRIMARY KEY (org_id, target)
);

CALL isolate_organizations('audit_trees');
CALL isolate_organizations('audit_tiles');
CALL isolate_organizations('audit_checkpoints');
CALL isolate_organizations('audit_attestations');
CALL isolate_organizations('audit_exports');

GRANT SELECT ON audit_trees, audit_tiles, audit_checkpoints, audit_attestations, audit_exports TO headgate_api, headgate_worker;
GRANT INSERT, UPDATE ON audit_trees, audit_tiles, audit_exports TO headgate_worker;
GRANT INSERT ON audit_checkpoints, audit_attestations TO headgate_worker;
GRANT SELECT ON audit_trees, audit_checkpoints, audit_attestations, audit_exports TO headgate_definer;

-- Organizations whose chain has grown since their last checkpoint, long enough ago or by enough events; and those
-- whose chain is shorter than their tree, which must be said.
CREATE FUNCTION checkpoints_due(p_every interval, p_events bigint) RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id FROM organizations o
    LEFT JOIN audit_trees t ON t.org_id = o.org_id
    LEFT JOIN LATERAL (SELECT c.seq FROM audit_chain c WHERE c.org_id = o.org_id ORDER BY c.seq DESC LIMIT 1) head ON true
    LEFT JOIN LATERAL (SELECT k.size, k.created_at FROM audit_checkpoints k WHERE k.org_id = o.org_id
                       ORDER BY k.size DESC LIMIT 1) k ON true
    WHERE coalesce(head.seq, 0) < coalesce(t.size, 0)
       OR (head.seq > coalesce(k.size, 0)
           AND (k.size IS NULL OR k.created_at <= clock_timestamp() - p_every OR head.seq - k.size >= p_events))
    ORDER BY k.created_at NULLS FIRST
    LIMIT 1000
$$;
CALL hand_to_definer('checkpoints_due', ARRAY['worker']);

-- Whether any organization has a checkpoint: then a missing key is a loss, and none is made in its place.
CREATE FUNCTION has_checkpoints() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM audit_checkpoints)
$$;
CALL hand_to_definer('has_checkpoints', ARRAY['worker']);

-- Organizations with a checkpoint that a target does not have yet and may be tried now.
CREATE FUNCTION exports_due(p_target text) RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id FROM organizations o
    JOIN LATERAL (SELECT k.size FROM audit_checkpoints k WHERE k.org_id = o.org_id ORDER BY k.size DESC LIMIT 1) k ON true
    LEFT JOIN audit_exports x ON x.org_id = o.org_id AND x.target = p_target
    WHERE k.size > coalesce(x.size, 0) AND coalesce(x.retry_at, '-infinity') <= clock_timestamp()
    LIMIT 1000
$$;
CALL hand_to_definer('exports_due', ARRAY['worker']);
