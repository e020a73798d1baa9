-- Deliveries: webhooks, notifications, integrations and event streams. All follow the audit log: a cursor per organization
-- and consumer moves over the chain in the transaction that writes the deliveries and their jobs. The audit log is the
-- transactional outbox: what is delivered is what is recorded, once, in that order.

CREATE TABLE event_cursors (
    org_id   text COLLATE "C" NOT NULL,
    consumer text COLLATE "C" NOT NULL CHECK (consumer IN ('webhooks', 'notifications', 'integrations')),
    seq      bigint NOT NULL, -- the last event read
    PRIMARY KEY (org_id, consumer)
);
CALL isolate_organizations('event_cursors');
GRANT SELECT, INSERT, UPDATE, DELETE ON event_cursors TO headgate_api;
GRANT SELECT, INSERT, UPDATE ON event_cursors TO headgate_worker;
GRANT SELECT ON event_cursors TO headgate_definer;

CREATE TABLE webhook_endpoints (
    org_id                text COLLATE "C" NOT NULL,
    endpoint_id           text COLLATE "C" NOT NULL,
    url                   text NOT NULL CHECK (length(url) <= 2048),
    description           text CHECK (length(description) <= 1024),
    events                text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
    enabled               boolean NOT NULL DEFAULT true,
    disabled_reason       text, -- why Headgate disabled it
    secret_number         integer NOT NULL DEFAULT 1, -- the vault keeps webhook/<endpoint>/<number>
    previous_secret_until timestamptz, -- until then secret number - 1 signs too
    failing_since         timestamptz, -- the first failure after the last success
    created_by            text COLLATE "C",
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    PRIMARY KEY (org_id, endpoint_id)
);
CALL isolate_organizations('webhook_endpoints');
GRANT SELECT, INSERT, UPDATE ON webhook_endpoints TO headgate_api, headgate_worker;

CREATE TABLE deliveries (
    org_id          text COLLATE "C" NOT NULL,
    delivery_id     text COLLATE "C" NOT NULL,
    target_kind     text COLLATE "C" NOT NULL CHECK (target_kind IN ('webhook', 'channel', 'integration')),
    target_id       text COLLATE "C" NOT NULL,
    event_id        text COLLATE "C", -- in the audit log; null: a test
    event           text NOT NULL,
    subject_id      text COLLATE "C", -- the approval, else the action: deliveries of one subject are in order
    payload         text NOT NULL, -- exactly what is sent, or the source of a message
    status          text NOT NULL CHECK (status IN ('pending', 'collected', 'delivered', 'parked', 'cancelled')),
    attempts        integer NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    give_up_at      timestamptz NOT NULL,
    next_attempt_at timestamptz,
    finished_at     timestamptz,
    reference       text, -- the receiver's id, if a later message edits this one
    told_in         text COLLATE "C", -- the digest message that contained it
    PRIMARY KEY (org_id, delivery_id)
);
-- A repeated relay inserts no delivery twice.
CREATE UNIQUE INDEX deliveries_once ON deliveries (org_id, target_kind, target_id, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX deliveries_by_target ON deliveries (org_id, target_kind, target_id, delivery_id DESC);
CREATE INDEX deliveries_by_kind ON deliveries (org_id, target_kind, delivery_id DESC);
CREATE INDEX deliveries_by_subject ON deliveries (org_id, subject_id, delivery_id);
CREATE INDEX deliveries_collected ON deliveries (org_id, target_id, delivery_id) WHERE status = 'collected';
-- Nearly all deliveries arrive: people search for the others.
CREATE INDEX deliveries_not_delivered ON deliveries (org_id, target_kind, status, delivery_id) INCLUDE (target_id)
    WHERE status <> 'delivered';
CREATE INDEX deliveries_by_event ON deliveries (org_id, target_kind, event, delivery_id) INCLUDE (target_id);
CALL isolate_organizations('deliveries');
GRANT SELECT, INSERT, UPDATE ON deliveries TO headgate_api, headgate_worker;
GRANT SELECT, UPDATE (payload) ON deliveries TO headgate_definer;

-- One row per attempt, written before anything is sent: an attempt of a killed worker stays visible.
CREATE TABLE delivery_attempts (
    org_id      text COLLATE "C" NOT NULL,
    delivery_id text COLLATE "C" NOT NULL,
    attempt     integer NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    succeeded   boolean,
    status_code integer,
    failure     text,
    message     text,
    excerpt     text, -- the beginning of the response, secrets masked
    latency_ms  double precision,
    PRIMARY KEY (org_id, delivery_id, attempt)
);
CALL isolate_organizations('delivery_attempts');
GRANT SELECT, INSERT, UPDATE ON delivery_attempts TO headgate_api, headgate_worker;
GRANT SELECT, UPDATE (message, excerpt) ON delivery_attempts TO headgate_definer;

-- The organization of a chat platform's request: its address names only the connection.
CREATE TABLE chat_connections (
    org_id        text COLLATE "C" NOT NULL,
    connection_id text COLLATE "C" NOT NULL,
    channel       text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, connection_id)
);
CREATE UNIQUE INDEX chat_connections_by_id ON chat_connections (connection_id);
CALL isolate_organizations('chat_connections');
GRANT SELECT, INSERT, DELETE ON chat_connections TO headgate_api;
GRANT SELECT ON chat_connections TO headgate_worker, headgate_definer;

-- Progress of each destination of an organization's event stream (headgate.siem), and since when it fails. The setting
-- ``siem`` lists the destinations.
CREATE TABLE event_streams (
    org_id        text COLLATE "C" NOT NULL,
    destination   text COLLATE "C" NOT NULL,
    seq           bigint NOT NULL, -- the last event that it accepted
    sent_at       timestamptz,
    failing_since timestamptz,
    failure       text,
    failures      integer NOT NULL DEFAULT 0,
    retry_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    alarmed_at    timestamptz,
    PRIMARY KEY (org_id, destination)
);
CALL isolate_organizations('event_streams');
GRANT SELECT, INSERT, UPDATE, DELETE ON event_streams TO headgate_api;
GRANT SELECT, UPDATE ON event_streams TO headgate_worker;
GRANT SELECT ON event_streams TO headgate_definer;
