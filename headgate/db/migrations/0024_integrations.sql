-- Trackers, chats and source hosts: which organization an inbound address is for, what was opened there for an
-- approval, and what came in, so that a delivery that is repeated is known again.

CREATE TABLE integration_connections (
    org_id        text COLLATE "C" NOT NULL,
    connection_id text COLLATE "C" NOT NULL,
    integration   text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, connection_id),
    UNIQUE (org_id, integration)
);
CREATE UNIQUE INDEX integration_connections_by_id ON integration_connections (connection_id);

-- A ticket, message or check that stands for an approval. digest: of the action that it shows.
CREATE TABLE integration_items (
    org_id       text COLLATE "C" NOT NULL,
    integration  text COLLATE "C" NOT NULL,
    approval_id  text COLLATE "C" NOT NULL,
    external_id  text COLLATE "C" NOT NULL CHECK (length(external_id) BETWEEN 1 AND 512),
    external_key text NOT NULL, -- what people call it
    url          text,
    digest       bytea NOT NULL,
    detail       text NOT NULL DEFAULT '{}', -- canonical JSON: what the platform needs to be answered
    opened_at    timestamptz NOT NULL,
    PRIMARY KEY (org_id, integration, approval_id)
);
CREATE UNIQUE INDEX integration_items_by_external ON integration_items (org_id, integration, external_id);

-- What came in and what became of it: the same delivery, sent again, changes nothing.
CREATE TABLE integration_receipts (
    org_id        text COLLATE "C" NOT NULL,
    connection_id text COLLATE "C" NOT NULL,
    receipt_id    text COLLATE "C" NOT NULL CHECK (length(receipt_id) BETWEEN 1 AND 256),
    received_at   timestamptz NOT NULL,
    outcome       text NOT NULL CHECK (outcome IN ('decided', 'refused', 'no_change', 'requested', 'exchanged')),
    approval_id   text COLLATE "C",
    account       text,
    message       text,
    PRIMARY KEY (org_id, connection_id, receipt_id)
);
CREATE INDEX integration_receipts_by_time ON integration_receipts (org_id, connection_id, received_at DESC);

ALTER TABLE event_cursors
    DROP CONSTRAINT event_cursors_consumer_check,
    ADD CONSTRAINT event_cursors_consumer_check CHECK (consumer IN ('webhooks', 'notifications', 'integrations'));
ALTER TABLE deliveries
    DROP CONSTRAINT deliveries_target_kind_check,
    ADD CONSTRAINT deliveries_target_kind_check CHECK (target_kind IN ('webhook', 'channel', 'integration'));

CALL isolate_organizations('integration_connections');
CALL isolate_organizations('integration_items');
CALL isolate_organizations('integration_receipts');

GRANT SELECT, INSERT, DELETE ON integration_connections TO headgate_api;
GRANT SELECT ON integration_connections TO headgate_worker;
GRANT SELECT, INSERT, UPDATE ON integration_items TO headgate_api, headgate_worker;
GRANT SELECT, INSERT ON integration_receipts TO headgate_api;
GRANT SELECT ON integration_connections TO headgate_definer;
GRANT SELECT, DELETE ON integration_receipts TO headgate_definer;

CREATE FUNCTION integration_connection_owner(p_connection text) RETURNS TABLE (org_id text, integration text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.org_id, c.integration FROM integration_connections c WHERE c.connection_id = p_connection
$$;
CALL hand_to_definer('integration_connection_owner', ARRAY['api']);

-- Longer than any platform goes on sending the same delivery, and than any signature is fresh.
CREATE FUNCTION forget_integration_receipts() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM integration_receipts WHERE received_at < clock_timestamp() - interval '90 days' RETURNING 1
    ) SELECT count(*) FROM gone
$$;
CALL hand_to_definer('forget_integration_receipts', ARRAY['worker']);
