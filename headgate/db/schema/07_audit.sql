-- The audit log. What was decided is appended to the journal, one row for the records that share a transaction. The applier
-- moves it, in order, into actions, executions and the organization's hash chain, in one transaction (headgate.journal). Rows of
-- the chain are narrow and stay for ever. Salts and payloads are in monthly partitions and may be erased: the chain stays valid.

CREATE TABLE journal (
    org_id     text COLLATE "C" NOT NULL,
    journal_id bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL -- in the range that readers can parse: one row outside it would break each page with it
               CHECK (created_at >= '0001-01-02 00:00Z' AND created_at < '9999-12-31 00:00Z'),
    -- Either one event, of a transaction that writes its rows itself. Values of a header are checked here, where a bad value
    -- refuses its writer.
    event_type text CHECK (event_type ~ '^[a-z_]+[.][a-z_]+$'),
    action_id  text COLLATE "C" CHECK (action_id ~ '^[A-Za-z0-9_-]+$'),
    agent_id   text COLLATE "C" CHECK (agent_id ~ '^[A-Za-z0-9_-]+$'),
    payload    text, -- canonical JSON {actor, data}: the exact bytes that are hashed
    -- Or actions and outcomes with their events, as headgate.actions.entry_lane writes them.
    entries    bytea STORAGE EXTERNAL,
    PRIMARY KEY (org_id, journal_id),
    CHECK (CASE WHEN entries IS NULL THEN event_type IS NOT NULL AND payload IS NOT NULL
                ELSE event_type IS NULL AND payload IS NULL AND action_id IS NULL AND agent_id IS NULL END)
-- Rows live for milliseconds: vacuum by their number, and without the lock that truncation takes. Of up to 8 KB they stay in one
-- piece: chunks in another table, with an index, cost as much again.
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000, vacuum_truncate = false);
CALL isolate_organizations('journal');
-- The API reads it to verify: the tables that lists show are compared with the sealed events and with these.
GRANT SELECT, INSERT (org_id, created_at, event_type, action_id, agent_id, payload) ON journal TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, DELETE ON journal TO headgate_definer;

-- What the applier could not apply, as it stood in the journal, and why. Nothing leaves this table by itself: an administrator applies
-- an entry after its cause is mended (headgate.journal.apply_set_aside).
CREATE TABLE journal_set_aside (
    org_id       text COLLATE "C" NOT NULL,
    journal_id   bigint NOT NULL,
    position     integer NOT NULL, -- of the entry in its row, from 0
    is_event     boolean NOT NULL, -- a row of one event: its columns, as elements of binary arrays
    entry        bytea NOT NULL,
    failure      text NOT NULL,
    set_aside_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, journal_id, position)
);
CALL isolate_organizations('journal_set_aside');
GRANT SELECT ON journal_set_aside TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, DELETE ON journal_set_aside TO headgate_definer;

-- How many entries of each writer were applied, a digest of their codes, and the place of the last one
-- (headgate.actions.entry_lane). The code, under a key that the database does not have, keeps its owner from counting an entry that
-- was deleted.
CREATE TABLE journal_writers (
    org_id     text COLLATE "C" NOT NULL,
    writer     bytea NOT NULL CHECK (octet_length(writer) = 16),
    applied    bigint NOT NULL,
    digest     bytea NOT NULL CHECK (octet_length(digest) = 16),
    before     bigint NOT NULL,
    position   bigint NOT NULL,
    missing    bigint NOT NULL,
    mark       bytea NOT NULL,
    code       bytea NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, writer)
) WITH (fillfactor = 50);
CREATE INDEX journal_writers_missing ON journal_writers (org_id) WHERE missing > 0;
CALL isolate_organizations('journal_writers');
GRANT SELECT ON journal_writers TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON journal_writers TO headgate_definer;

-- Which single events of the journal were applied within the last days. A code is of the organization and the event's digest, under a
-- key that the database does not have. The process that wrote an event attests its digest within a second
-- (headgate.audit.written_events): one that is not here was deleted or changed before it was applied.
CREATE TABLE journal_applied (
    org_id     text COLLATE "C" NOT NULL,
    code       bytea NOT NULL CHECK (octet_length(code) = 16),
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, code)
);
CALL isolate_organizations('journal_applied');
GRANT SELECT ON journal_applied TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, DELETE ON journal_applied TO headgate_definer;

CREATE TABLE audit_chain (
    org_id    text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    header    text NOT NULL, -- canonical JSON: the exact bytes that are hashed
    hash      bytea NOT NULL CHECK (octet_length(hash) = 32),
    sealed_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, seq)
);
CREATE INDEX audit_chain_by_time ON audit_chain (org_id, sealed_at);
CALL isolate_organizations('audit_chain');
GRANT SELECT ON audit_chain TO headgate_api, headgate_worker;
GRANT SELECT, INSERT ON audit_chain TO headgate_definer;

CREATE TABLE audit_events (
    org_id     text COLLATE "C" NOT NULL,
    seq        bigint NOT NULL,
    event_id   text COLLATE "C" NOT NULL,
    event_type text NOT NULL,
    action_id  text COLLATE "C",
    agent_id   text COLLATE "C",
    created_at timestamptz NOT NULL,
    sealed_at  timestamptz NOT NULL,
    salt       bytea, -- null with the payload: erased
    payload    text,
    CHECK ((salt IS NULL) = (payload IS NULL))
) PARTITION BY RANGE (sealed_at);
-- Takes what no monthly partition takes: a missing partition must not stop the applier.
CREATE TABLE audit_events_rest PARTITION OF audit_events DEFAULT;
CREATE INDEX audit_events_by_seq ON audit_events (org_id, seq);
CREATE INDEX audit_events_by_action ON audit_events (org_id, action_id, seq);
-- Only the rare types. A scan of any range finds the frequent types, and indexing them would cost each request.
CREATE INDEX audit_events_by_type ON audit_events (org_id, event_type, seq)
    WHERE event_type NOT IN ('action.submitted', 'decision.made', 'execution.started', 'execution.completed');
-- Ranges of time. Rows are nearly in this order, so a block range index serves, at no cost to the applier.
CREATE INDEX audit_events_by_time ON audit_events USING brin (created_at);
-- Events of an agent itself (keys, changes, refusals): few, among many events of its actions.
CREATE INDEX audit_events_of_agents ON audit_events (org_id, agent_id, seq) WHERE action_id IS NULL;
CALL isolate_organizations('audit_events');
-- include headgate.db/schema/functions/audit/ensure_audit_partitions.sql
SELECT ensure_audit_partitions();
GRANT SELECT ON audit_events TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE (salt, payload) ON audit_events TO headgate_definer;

-- A bitmap index for search, written beside the applier. The chain is cut into blocks of 1,024 sequence numbers. For each
-- value of a facet that occurs in a block there is one row with one bit per event. A block is indexed once, when it is full,
-- and its rows never change. headgate.audit.find reads blocks that are not indexed yet from the events: the indexer changes
-- how long an answer takes, never the answer.
CREATE TABLE audit_blocks (
    org_id   text COLLATE "C" NOT NULL,
    block    bigint NOT NULL CHECK (block >= 0), -- of the events 1024 * block + 1 to 1024 * (block + 1)
    first_at timestamptz NOT NULL,               -- the earliest and the latest created_at
    last_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, block)
);
CALL isolate_organizations('audit_blocks');
GRANT SELECT ON audit_blocks TO headgate_api, headgate_worker;
GRANT SELECT, INSERT ON audit_blocks TO headgate_definer;

CREATE TABLE audit_facets (
    org_id text COLLATE "C" NOT NULL,
    facet  text COLLATE "C" NOT NULL,
    value  text COLLATE "C" NOT NULL,
    block  bigint NOT NULL,
    events bit(1024) NOT NULL, -- the leftmost bit is the block's first event
    -- The masks of one value are adjacent in the index and scattered over the table.
    PRIMARY KEY (org_id, facet, value, block) INCLUDE (events)
-- Rows are only added: vacuum by their number, or index-only scans read the table too.
) WITH (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
        autovacuum_analyze_scale_factor = 0.05);
-- A value belongs to its facet. Without this the planner estimates a hundredth of the rows.
CREATE STATISTICS audit_facets_values (mcv) ON facet, value FROM audit_facets;
CALL isolate_organizations('audit_facets');
GRANT SELECT ON audit_facets TO headgate_api, headgate_worker;
GRANT SELECT, INSERT ON audit_facets TO headgate_definer;
