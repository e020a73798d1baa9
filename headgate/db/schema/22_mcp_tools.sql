-- The tools that MCP servers offered: of each the definition that was accepted, and the one that was seen last. The first one
-- that is seen is accepted; another one has to be, by a person.
CREATE TABLE mcp_tools (
    org_id              text COLLATE "C" NOT NULL,
    tool_id             text COLLATE "C" NOT NULL,
    -- The tool of its calls' actions; of a server that an agent runs itself, with the agent's identifier and a slash before it.
    server              text COLLATE "C" NOT NULL CHECK (length(server) <= 128),
    name                text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 512), -- as the server spells it
    accepted_sha256     bytea NOT NULL CHECK (octet_length(accepted_sha256) = 32), -- of the canonical definition
    accepted_definition text, -- canonical JSON; null where it is too long to be kept
    accepted_at         timestamptz NOT NULL,
    accepted_by         text COLLATE "C", -- null: it was the first one
    seen_sha256         bytea NOT NULL CHECK (octet_length(seen_sha256) = 32),
    seen_definition     text,
    seen_at             timestamptz NOT NULL, -- for the first time
    changed_at          timestamptz, -- set: it is no longer what was accepted, or was not for a while
    PRIMARY KEY (org_id, tool_id),
    UNIQUE (org_id, server, name)
);
CREATE INDEX mcp_tools_changed ON mcp_tools (org_id, tool_id) WHERE changed_at IS NOT NULL;
CALL isolate_organizations('mcp_tools');
GRANT SELECT, DELETE, UPDATE (accepted_sha256, accepted_definition, accepted_at, accepted_by, changed_at)
    ON mcp_tools TO headgate_api;
GRANT SELECT ON mcp_tools TO headgate_proxy, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON mcp_tools TO headgate_definer;
