-- Actions. JSON is stored as the exact text that was hashed, never as jsonb: jsonb changes numbers, drops duplicate keys and
-- refuses NUL.

CREATE TABLE actions (
    org_id           text COLLATE "C" NOT NULL,
    action_id        text COLLATE "C" NOT NULL,
    agent_id         text COLLATE "C" NOT NULL,
    key_id           text COLLATE "C",
    source           text NOT NULL CHECK (source IN ('proxy', 'api')),
    tool             text NOT NULL,
    operation        text NOT NULL,
    status           text NOT NULL CHECK (status IN (
                         'allowed', 'denied', 'pending_approval', 'approved', 'executing', 'completed', 'failed')),
    digest           bytea NOT NULL CHECK (octet_length(digest) = 32),
    request          text NOT NULL, -- masked: {params, context?, delegation?, http?}
    decision         text NOT NULL, -- {decision, reason, risk_level, policy_id, evaluation_time_ms, policies}
    risk_level       text NOT NULL,
    approval_id      text COLLATE "C",
    parent_action_id text COLLATE "C",
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    -- Where the bodies are: in this row and its execution (clear), encrypted in kept_bodies (kept), dropped by the retention
    -- policy, or erased.
    body_state       text NOT NULL DEFAULT 'clear' CHECK (body_state IN ('clear', 'kept', 'dropped', 'erased')),
    PRIMARY KEY (org_id, action_id)
);
CREATE INDEX actions_by_agent ON actions (org_id, agent_id, action_id);
-- Earlier decisions that a reviewer sees. Partial: an action without an approval costs no index entry.
CREATE INDEX actions_decided_alike ON actions (org_id, agent_id, tool, operation, action_id) WHERE approval_id IS NOT NULL;
CREATE INDEX actions_by_tool ON actions (org_id, tool, action_id);
-- Explicit submissions are few: without their own index a page of them is a scan.
CREATE INDEX actions_explicit ON actions (org_id, action_id) WHERE source = 'api';
CREATE INDEX actions_by_parent ON actions (org_id, parent_action_id, action_id) WHERE parent_action_id IS NOT NULL;
-- An index on the status turns each change of it into a change of every index of the row: the cost is measured in
-- docs/decisions/0035-an-index-for-each-filter.md.
CREATE INDEX actions_by_status ON actions (org_id, status, action_id);
CREATE INDEX actions_by_agent_and_status ON actions (org_id, agent_id, status, action_id);
CREATE INDEX actions_by_operation ON actions (org_id, operation, action_id);
CALL isolate_organizations('actions');
GRANT SELECT, UPDATE (status, updated_at) ON actions TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON actions TO headgate_definer;

-- What content policies with the action "tag" found in a call and its answer: kinds of findings. The applier writes them, from the
-- events that say so.
CREATE TABLE action_tags (
    org_id    text COLLATE "C" NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    tag       text COLLATE "C" NOT NULL CHECK (length(tag) BETWEEN 1 AND 64),
    PRIMARY KEY (org_id, action_id, tag)
);
CREATE INDEX action_tags_by_tag ON action_tags (org_id, tag, action_id);
CALL isolate_organizations('action_tags');
GRANT SELECT ON action_tags TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, DELETE ON action_tags TO headgate_definer;

-- The first submission with a key owns the key for ever, also in a race (semantics.md, "Retry, use, expiry").
CREATE TABLE idempotency_keys (
    org_id          text COLLATE "C" NOT NULL,
    agent_id        text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    request_digest  bytea NOT NULL,
    action_id       text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, agent_id, idempotency_key)
);
CALL isolate_organizations('idempotency_keys');
GRANT SELECT ON idempotency_keys TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE (request_digest) ON idempotency_keys TO headgate_definer;
