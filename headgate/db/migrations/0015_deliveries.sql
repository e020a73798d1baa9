-- What Headgate tells others: webhooks and notifications. Both follow the record: a cursor per organization and consumer
-- moves over the chain in the transaction that writes the deliveries and defers their jobs (a transactional outbox
-- whose box is the record itself), so that what is told is what is recorded, once, in that order.

CREATE TABLE event_cursors (
    org_id   text COLLATE "C" NOT NULL,
    consumer text COLLATE "C" NOT NULL CHECK (consumer IN ('webhooks', 'notifications')),
    seq      bigint NOT NULL, -- the last event that was looked at
    PRIMARY KEY (org_id, consumer)
);

CREATE TABLE webhook_endpoints (
    org_id                text COLLATE "C" NOT NULL,
    endpoint_id           text COLLATE "C" NOT NULL,
    url                   text NOT NULL CHECK (length(url) <= 2048),
    description           text CHECK (length(description) <= 1024),
    events                text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
    enabled               boolean NOT NULL DEFAULT true,
    disabled_reason       text, -- why Headgate itself disabled it
    secret_number         integer NOT NULL DEFAULT 1, -- the vault keeps webhook/<endpoint>/<number>
    previous_secret_until timestamptz, -- number - 1 signs as well until then
    failing_since         timestamptz, -- the first failure after the last success
    created_by            text COLLATE "C",
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    PRIMARY KEY (org_id, endpoint_id)
);

CREATE TABLE deliveries (
    org_id          text COLLATE "C" NOT NULL,
    delivery_id     text COLLATE "C" NOT NULL,
    target_kind     text COLLATE "C" NOT NULL CHECK (target_kind IN ('webhook', 'channel')),
    target_id       text COLLATE "C" NOT NULL,
    event_id        text COLLATE "C", -- of the record; null: a test
    event           text NOT NULL,
    subject_id      text COLLATE "C", -- the approval, else the action: deliveries of one are in order
    payload         text NOT NULL, -- exactly what is sent, or what a message is made of
    status          text NOT NULL CHECK (status IN ('pending', 'collected', 'delivered', 'parked', 'cancelled')),
    attempts        integer NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    give_up_at      timestamptz NOT NULL,
    next_attempt_at timestamptz,
    finished_at     timestamptz,
    reference       text, -- what the receiver calls it, where a later message changes this one
    told_in         text COLLATE "C", -- the digest that carried it
    PRIMARY KEY (org_id, delivery_id)
);
-- A relay that is repeated inserts nothing twice.
CREATE UNIQUE INDEX deliveries_once ON deliveries (org_id, target_kind, target_id, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX deliveries_by_target ON deliveries (org_id, target_kind, target_id, delivery_id DESC);
CREATE INDEX deliveries_by_kind ON deliveries (org_id, target_kind, delivery_id DESC);
CREATE INDEX deliveries_by_subject ON deliveries (org_id, subject_id, delivery_id);
CREATE INDEX deliveries_collected ON deliveries (org_id, target_id, delivery_id) WHERE status = 'collected';

-- One row an attempt, written before anything is sent: what a killed worker had begun stays visible.
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
    excerpt     text, -- the beginning of the answer, secrets masked
    latency_ms  double precision,
    PRIMARY KEY (org_id, delivery_id, attempt)
);

-- Every version of a setting that people look back at.
CREATE TABLE setting_versions (
    org_id     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    document   text NOT NULL, -- canonical JSON, without secrets
    updated_by text COLLATE "C",
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, name, version)
);

-- Which organization a chat platform's request is for: its address names the connection and nothing else.
CREATE TABLE chat_connections (
    org_id        text COLLATE "C" NOT NULL,
    connection_id text COLLATE "C" NOT NULL,
    channel       text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, connection_id)
);
CREATE UNIQUE INDEX chat_connections_by_id ON chat_connections (connection_id);

CALL isolate_organizations('event_cursors');
CALL isolate_organizations('webhook_endpoints');
CALL isolate_organizations('deliveries');
CALL isolate_organizations('delivery_attempts');
CALL isolate_organizations('setting_versions');
CALL isolate_organizations('chat_connections');

GRANT SELECT, INSERT, UPDATE ON event_cursors, webhook_endpoints, deliveries, delivery_attempts TO headgate_api, headgate_worker;
GRANT DELETE ON event_cursors TO headgate_api;
GRANT SELECT, INSERT ON setting_versions TO headgate_api;
GRANT SELECT, INSERT, DELETE ON chat_connections TO headgate_api;
GRANT SELECT ON chat_connections, setting_versions TO headgate_worker;
GRANT SELECT ON event_cursors, chat_connections TO headgate_definer;

-- Consumers that have something to look at: sealed behind their cursor, or about to be sealed.
CREATE FUNCTION relay_due() RETURNS TABLE (org_id text, consumer text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
    SELECT c.org_id, c.consumer FROM event_cursors c
    WHERE EXISTS (SELECT FROM audit_chain a WHERE a.org_id = c.org_id AND a.seq > c.seq)
       OR EXISTS (SELECT FROM audit_inbox i WHERE i.org_id = c.org_id)
    ORDER BY random()
$$;
CALL hand_to_definer('relay_due', ARRAY['worker']);

CREATE FUNCTION chat_connection_owner(p_connection text) RETURNS TABLE (org_id text, channel text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.org_id, c.channel FROM chat_connections c WHERE c.connection_id = p_connection
$$;
CALL hand_to_definer('chat_connection_owner', ARRAY['api']);
