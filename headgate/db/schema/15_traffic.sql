-- Captured traffic, masked before it is written, each row encrypted with its own key. Deleting the key erases the row. It is
-- not part of the audit log.

CREATE TABLE traffic_exchanges (
    org_id         text COLLATE "C" NOT NULL,
    exchange_id    text COLLATE "C" NOT NULL,
    created_at     timestamptz NOT NULL CHECK (isfinite(created_at)),
    agent_id       text COLLATE "C" NOT NULL,
    action_id      text COLLATE "C",
    tool           text NOT NULL,
    operation      text NOT NULL,
    decision       text NOT NULL,
    level          text NOT NULL CHECK (level IN ('heads', 'bodies')),
    method         text NOT NULL,
    scheme         text NOT NULL,
    host           text NOT NULL,
    port           integer NOT NULL,
    target         text, -- masked path and query; null: erased
    status         integer, -- null: no response
    duration_ms    double precision,
    request_bytes  bigint NOT NULL,
    response_bytes bigint NOT NULL,
    masking        text NOT NULL, -- canonical JSON: what was masked, and where
    omitted        text NOT NULL, -- canonical JSON: what was left out, and why
    error          text,
    key_id         text COLLATE "C", -- the master key of wrapped_key
    wrapped_key    bytea, -- null: erased
    content        bytea STORAGE EXTERNAL, -- compressed, then encrypted
    erased_at      timestamptz,
    note           text, -- a reviewer's, in clear; erased with the text of the exchange
    tags           text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (org_id, exchange_id, created_at),
    CHECK ((content IS NULL) = (wrapped_key IS NULL) AND (content IS NULL) = (erased_at IS NOT NULL))
) PARTITION BY RANGE (created_at);
-- Takes what no monthly partition takes.
CREATE TABLE traffic_exchanges_rest PARTITION OF traffic_exchanges DEFAULT;
CREATE INDEX traffic_by_agent ON traffic_exchanges (org_id, agent_id, exchange_id);
CREATE INDEX traffic_by_action ON traffic_exchanges (org_id, action_id) WHERE action_id IS NOT NULL;
CREATE INDEX traffic_by_host ON traffic_exchanges (org_id, host, exchange_id);
-- The few that somebody has tagged or written a note about.
CREATE INDEX traffic_noted ON traffic_exchanges (org_id, exchange_id) WHERE note IS NOT NULL OR tags <> '{}';
-- A range of time is a range of this index. A page is sorted after: lists are in the order in which exchanges ended.
CREATE INDEX traffic_by_time ON traffic_exchanges (org_id, created_at);
CREATE INDEX traffic_by_tool ON traffic_exchanges (org_id, tool, exchange_id);
CREATE INDEX traffic_by_operation ON traffic_exchanges (org_id, operation, exchange_id);
CREATE INDEX traffic_by_method ON traffic_exchanges (org_id, method, exchange_id);
CREATE INDEX traffic_by_status ON traffic_exchanges (org_id, status, exchange_id);
CREATE INDEX traffic_by_decision ON traffic_exchanges (org_id, decision, exchange_id);
CALL isolate_organizations('traffic_exchanges');
-- include headgate.db/schema/functions/traffic/ensure_traffic_partitions.sql
SELECT ensure_traffic_partitions();
-- UPDATE erases an exchange: its metadata stays. DELETE is for retention.
GRANT SELECT, UPDATE (target, masking, error, key_id, wrapped_key, content, erased_at, note, tags)
    ON traffic_exchanges TO headgate_api, headgate_worker;
GRANT DELETE ON traffic_exchanges TO headgate_worker;
GRANT SELECT, INSERT ON traffic_exchanges TO headgate_definer;

-- Exchanges that were not captured, and why. A report that is repeated has the same loss_id.
CREATE TABLE traffic_losses (
    org_id    text COLLATE "C" NOT NULL,
    loss_id   text COLLATE "C" NOT NULL,
    cause     text NOT NULL,
    exchanges bigint NOT NULL CHECK (exchanges > 0),
    since     timestamptz NOT NULL,
    until     timestamptz NOT NULL,
    PRIMARY KEY (org_id, loss_id)
);
CREATE INDEX traffic_losses_by_time ON traffic_losses (org_id, until);
CALL isolate_organizations('traffic_losses');
GRANT SELECT ON traffic_losses TO headgate_api;
GRANT SELECT, DELETE ON traffic_losses TO headgate_worker;
GRANT SELECT, INSERT ON traffic_losses TO headgate_definer;
