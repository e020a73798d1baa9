-- Actions, their executions and approvals. JSON is kept as the exact text that was hashed, never as jsonb
-- (jsonb changes numbers, drops duplicate keys and refuses NUL).

CREATE TABLE actions (
    org_id      text COLLATE "C" NOT NULL,
    action_id   text COLLATE "C" NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    key_id      text COLLATE "C",
    source      text NOT NULL CHECK (source IN ('proxy', 'api')),
    tool        text NOT NULL,
    operation   text NOT NULL,
    status      text NOT NULL CHECK (status IN ('allowed', 'denied', 'pending_approval', 'approved', 'executing', 'completed', 'failed')),
    digest      bytea NOT NULL CHECK (octet_length(digest) = 32),
    request     text NOT NULL, -- masked: {params, context?, delegation?, http?}
    decision    text NOT NULL, -- {decision, reason, risk_level, policy_id, evaluation_time_ms, policies}
    risk_level  text NOT NULL,
    approval_id text COLLATE "C",
    parent_action_id text COLLATE "C",
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, action_id)
);
CREATE INDEX actions_by_agent ON actions (org_id, agent_id, action_id);
CREATE INDEX actions_by_parent ON actions (org_id, parent_action_id) WHERE parent_action_id IS NOT NULL;

-- One row under a race: the first submission with a key owns it for ever (semantics.md, "Retry, use, expiry").
CREATE TABLE idempotency_keys (
    org_id          text COLLATE "C" NOT NULL,
    agent_id        text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    request_digest  bytea NOT NULL,
    action_id       text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, agent_id, idempotency_key)
);

CREATE TABLE executions (
    org_id       text COLLATE "C" NOT NULL,
    execution_id text COLLATE "C" NOT NULL,
    action_id    text COLLATE "C" NOT NULL,
    instance_id  text COLLATE "C",
    status       text NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
    attempts     integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    started_at   timestamptz,
    completed_at timestamptz,
    error        text,
    result       text,
    PRIMARY KEY (org_id, execution_id)
);
CREATE INDEX executions_by_action ON executions (org_id, action_id);
-- Small: what runs now. The worker looks here for what a dead process left.
CREATE INDEX executions_running ON executions (instance_id, started_at) WHERE status = 'running';

-- How executions ended: appended by the process that saw it, folded into executions and actions by the
-- worker, and by the API before it reads (an update in the path of a request would delay the next record).
CREATE TABLE execution_outcomes (
    org_id       text COLLATE "C" NOT NULL,
    execution_id text COLLATE "C" NOT NULL,
    action_id    text COLLATE "C" NOT NULL,
    succeeded    boolean NOT NULL,
    completed_at timestamptz NOT NULL,
    error        text,
    result       text,
    PRIMARY KEY (org_id, execution_id)
);

CREATE TABLE approvals (
    org_id             text COLLATE "C" NOT NULL,
    approval_id        text COLLATE "C" NOT NULL,
    action_id          text COLLATE "C" NOT NULL,
    agent_id           text COLLATE "C" NOT NULL,
    source             text NOT NULL,
    digest             bytea NOT NULL,
    status             text NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
    requirements       text NOT NULL, -- canonical JSON: [{policy_id, policy_version, required_approvals, assignees}]
    required_approvals integer NOT NULL CHECK (required_approvals >= 1),
    current_approvals  integer NOT NULL DEFAULT 0,
    reason             text NOT NULL,
    risk_level         text NOT NULL,
    policy_id          text COLLATE "C",
    repeats            text COLLATE "C", -- the used, expired or outgrown approval of the same digest
    created_at         timestamptz NOT NULL,
    expires_at         timestamptz NOT NULL,
    decided_at         timestamptz,
    decided_by         text COLLATE "C",
    comment            text,
    used_at            timestamptz,
    used_by            text COLLATE "C", -- the execution
    PRIMARY KEY (org_id, approval_id)
);
CREATE INDEX approvals_by_digest ON approvals (org_id, agent_id, digest, approval_id);
-- At most one open approval a digest (semantics.md); explicit submissions are new actions each time.
CREATE UNIQUE INDEX approvals_one_open ON approvals (org_id, agent_id, digest) WHERE status = 'pending' AND source = 'proxy';
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;

CREATE TABLE approval_votes (
    org_id      text COLLATE "C" NOT NULL,
    approval_id text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL, -- the voter: a user, or a key that no user created
    key_id      text COLLATE "C",
    decision    text NOT NULL CHECK (decision IN ('approve', 'deny')),
    reason      text,
    decided_at  timestamptz NOT NULL,
    email       text, -- as it was when the vote was cast, like as_admin: what counts is what was checked then
    as_admin    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (org_id, approval_id, user_id)
);

CALL isolate_organizations('actions');
CALL isolate_organizations('idempotency_keys');
CALL isolate_organizations('executions');
CALL isolate_organizations('execution_outcomes');
CALL isolate_organizations('approvals');
CALL isolate_organizations('approval_votes');

GRANT SELECT ON actions, idempotency_keys, executions, execution_outcomes, approvals, approval_votes TO headgate_api, headgate_worker;
GRANT SELECT ON approvals TO headgate_proxy;
GRANT UPDATE (status, updated_at) ON actions TO headgate_api, headgate_worker;
GRANT UPDATE (status, current_approvals, decided_at, decided_by, comment) ON approvals TO headgate_api, headgate_worker;
GRANT INSERT ON approval_votes TO headgate_api;
GRANT SELECT, INSERT, UPDATE ON actions, executions, approvals TO headgate_definer;
GRANT SELECT, INSERT ON idempotency_keys TO headgate_definer;
GRANT SELECT, INSERT, DELETE ON execution_outcomes TO headgate_definer;
