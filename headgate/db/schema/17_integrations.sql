-- Integrations with trackers, chats and source hosts.

-- The organization of an inbound address.
CREATE TABLE integration_connections (
    org_id        text COLLATE "C" NOT NULL,
    connection_id text COLLATE "C" NOT NULL,
    integration   text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, connection_id),
    UNIQUE (org_id, integration)
);
CREATE UNIQUE INDEX integration_connections_by_id ON integration_connections (connection_id);
CALL isolate_organizations('integration_connections');
GRANT SELECT, INSERT, DELETE ON integration_connections TO headgate_api;
GRANT SELECT ON integration_connections TO headgate_worker, headgate_definer;

-- The ticket, message or check that shows an approval. digest: of the action shown.
CREATE TABLE integration_items (
    org_id       text COLLATE "C" NOT NULL,
    integration  text COLLATE "C" NOT NULL,
    approval_id  text COLLATE "C" NOT NULL,
    external_id  text COLLATE "C" NOT NULL CHECK (length(external_id) BETWEEN 1 AND 512),
    external_key text NOT NULL, -- the name that people use
    url          text,
    report_key   text COLLATE "C", -- items with the same one share one report at the platform; null: it has its own
    digest       bytea NOT NULL,
    detail       text NOT NULL DEFAULT '{}', -- canonical JSON: what a reply to the platform needs
    opened_at    timestamptz NOT NULL,
    PRIMARY KEY (org_id, integration, approval_id)
);
CREATE UNIQUE INDEX integration_items_by_external ON integration_items (org_id, integration, external_id);
CREATE INDEX integration_items_by_report ON integration_items (org_id, integration, report_key) WHERE report_key IS NOT NULL;
CALL isolate_organizations('integration_items');
GRANT SELECT, INSERT, UPDATE ON integration_items TO headgate_api, headgate_worker;

-- Inbound deliveries and their outcomes: a delivery that is sent again has no effect.
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
CALL isolate_organizations('integration_receipts');
GRANT SELECT, INSERT ON integration_receipts TO headgate_api;
GRANT SELECT, DELETE ON integration_receipts TO headgate_definer;
