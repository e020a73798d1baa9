-- Reports about the record: asked for by a person, made by the queue, kept until somebody deletes them. What one says is
-- a function of the sealed events of its run and of its checkpoint, so that it can be made again, byte for byte.

CREATE TABLE reports (
    org_id          text COLLATE "C" NOT NULL,
    report_id       text COLLATE "C" NOT NULL,
    report_type     text NOT NULL CHECK (report_type IN ('compliance', 'activity', 'approvals', 'policy_changes', 'access')),
    format          text NOT NULL CHECK (format IN ('pdf', 'html', 'csv', 'json')),
    sections        text[] NOT NULL,
    start_at        timestamptz, -- null: from the first event on
    end_at          timestamptz NOT NULL,
    most_events     bigint CHECK (most_events > 0), -- the size of the checkpoint that was asked for
    status          text NOT NULL CHECK (status IN ('queued', 'running', 'ready', 'failed')),
    stage           text NOT NULL CHECK (stage IN ('waiting', 'verifying', 'reading', 'rendering', 'done')),
    done            bigint NOT NULL DEFAULT 0, -- events, of this stage
    total           bigint NOT NULL DEFAULT 0,
    attempt         integer NOT NULL DEFAULT 0,
    failure         text,
    created_by      text NOT NULL,
    created_at      timestamptz NOT NULL,
    started_at      timestamptz,
    finished_at     timestamptz,
    first_seq       bigint, -- the run of events that it tells of; null: there were none
    last_seq        bigint,
    checkpoint_size bigint, -- null: nothing was signed that covers it
    checkpoint_root bytea CHECK (octet_length(checkpoint_root) = 32),
    size_bytes      bigint,
    sha256          bytea CHECK (octet_length(sha256) = 32),
    PRIMARY KEY (org_id, report_id)
);
CREATE INDEX reports_unfinished ON reports (org_id) WHERE status IN ('queued', 'running');

-- The file, in pieces that no reader needs to hold at once.
CREATE TABLE report_pieces (
    org_id    text COLLATE "C" NOT NULL,
    report_id text COLLATE "C" NOT NULL,
    piece     integer NOT NULL CHECK (piece >= 0),
    content   bytea STORAGE EXTERNAL NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 1048576),
    PRIMARY KEY (org_id, report_id, piece),
    FOREIGN KEY (org_id, report_id) REFERENCES reports (org_id, report_id) ON DELETE CASCADE
);

CALL isolate_organizations('reports');
CALL isolate_organizations('report_pieces');

GRANT SELECT, INSERT, DELETE ON reports TO headgate_api;
GRANT SELECT ON report_pieces TO headgate_api;
GRANT SELECT ON reports TO headgate_worker;
GRANT UPDATE (status, stage, done, total, attempt, failure, started_at, finished_at, first_seq, last_seq, checkpoint_size,
              checkpoint_root, size_bytes, sha256) ON reports TO headgate_worker;
GRANT SELECT, INSERT, DELETE ON report_pieces TO headgate_worker;
