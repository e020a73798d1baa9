-- Agents as administrators keep them: whose they are, what they are called together by, their own limits, and a pause.

ALTER TABLE agents
    ADD COLUMN owner text CHECK (length(owner) BETWEEN 1 AND 320),
    ADD COLUMN tags text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 32),
    ADD COLUMN requests_per_minute integer CHECK (requests_per_minute BETWEEN 1 AND 100000), -- null: the class's quota
    ADD COLUMN open_approvals integer CHECK (open_approvals BETWEEN 1 AND 10000), -- null: as everybody's
    ADD COLUMN status_reason text CHECK (length(status_reason) <= 500),
    DROP CONSTRAINT agents_status_check,
    ADD CONSTRAINT agents_status_check CHECK (status IN ('active', 'suspended', 'deactivated'));

-- What happened to an agent itself (keys, changes, refusals): few rows, found without reading through its actions'.
CREATE INDEX audit_events_of_agents ON audit_events (org_id, agent_id, seq) WHERE action_id IS NULL;
CREATE INDEX api_keys_by_display ON api_keys (org_id, display);
