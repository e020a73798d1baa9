-- Reports about the audit log: requested by a person, rendered by a job, kept until deleted by a person or by the
-- organization's retention policy. The content is a function of a range of sealed events and of a checkpoint: a report can be
-- rendered again byte for byte.

CREATE TABLE reports (
    org_id          text COLLATE "C" NOT NULL,
    report_id       text COLLATE "C" NOT NULL,
    report_type     text NOT NULL CHECK (report_type IN ('compliance', 'activity', 'approvals', 'policy_changes', 'access')),
    format          text NOT NULL CHECK (format IN ('pdf', 'html', 'csv', 'json')),
    sections        text[] NOT NULL,
    start_at        timestamptz, -- null: from the first event
    end_at          timestamptz NOT NULL,
    most_events     bigint CHECK (most_events > 0), -- size of the requested checkpoint
    status          text NOT NULL CHECK (status IN ('queued', 'running', 'ready', 'failed')),
    stage           text NOT NULL CHECK (stage IN ('waiting', 'verifying', 'reading', 'rendering', 'done')),
    done            bigint NOT NULL DEFAULT 0, -- events of this stage
    total           bigint NOT NULL DEFAULT 0,
    attempt         integer NOT NULL DEFAULT 0,
    failure         text,
    created_by      text NOT NULL,
    created_at      timestamptz NOT NULL,
    started_at      timestamptz,
    finished_at     timestamptz,
    first_seq       bigint, -- range of events; null: no events
    last_seq        bigint,
    checkpoint_size bigint, -- null: no checkpoint covers the range
    checkpoint_root bytea CHECK (octet_length(checkpoint_root) = 32),
    size_bytes      bigint,
    sha256          bytea CHECK (octet_length(sha256) = 32),
    PRIMARY KEY (org_id, report_id)
);
CREATE INDEX reports_unfinished ON reports (org_id) WHERE status IN ('queued', 'running');
CREATE INDEX reports_by_type ON reports (org_id, report_type, report_id);
CREATE INDEX reports_by_status ON reports (org_id, status, report_id);
CALL isolate_organizations('reports');
GRANT SELECT, INSERT, DELETE ON reports TO headgate_api;
GRANT SELECT, UPDATE (status, stage, done, total, attempt, failure, started_at, finished_at, first_seq, last_seq,
    checkpoint_size, checkpoint_root, size_bytes, sha256), DELETE ON reports TO headgate_worker;

-- The file in pieces, so that no reader holds all of it in memory.
CREATE TABLE report_pieces (
    org_id    text COLLATE "C" NOT NULL,
    report_id text COLLATE "C" NOT NULL,
    piece     integer NOT NULL CHECK (piece >= 0),
    content   bytea STORAGE EXTERNAL NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 1048576),
    PRIMARY KEY (org_id, report_id, piece),
    FOREIGN KEY (org_id, report_id) REFERENCES reports (org_id, report_id) ON DELETE CASCADE
);
CALL isolate_organizations('report_pieces');
GRANT SELECT ON report_pieces TO headgate_api;
GRANT SELECT, INSERT, DELETE ON report_pieces TO headgate_worker;
