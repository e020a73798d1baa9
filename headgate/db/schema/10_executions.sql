-- Executions, and the calls that Headgate makes itself (docs/decisions/0016-executions-from-a-postgresql-queue.md).

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
-- Small: running executions. The worker finds here what a dead process left.
CREATE INDEX executions_running ON executions (instance_id, started_at) WHERE status = 'running';
-- Lists are ordered by action, then execution: the agent's index of actions finds the executions of an agent.
CREATE INDEX executions_by_action ON executions (org_id, action_id, execution_id);
CREATE INDEX executions_not_succeeded ON executions (org_id, status, action_id, execution_id)
    WHERE status IN ('queued', 'failed');
CREATE INDEX executions_ended ON executions (org_id, completed_at) WHERE completed_at IS NOT NULL;
CALL isolate_organizations('executions');
GRANT SELECT ON executions TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON executions TO headgate_definer;

-- Calls that wait, run, or may be tried again. The call itself is in the vault as "call/<action>": it may contain secrets, and
-- is deleted when it has succeeded.
CREATE TABLE execution_calls (
    org_id       text COLLATE "C" NOT NULL,
    action_id    text COLLATE "C" NOT NULL,
    execution_id text COLLATE "C", -- null: not queued, the call waits for its approval
    agent_id     text COLLATE "C" NOT NULL,
    tool         text NOT NULL,    -- of the action: failed calls are listed by it
    operation    text NOT NULL,
    state        text NOT NULL DEFAULT 'kept' CHECK (state IN ('kept', 'queued', 'running', 'failed')),
    destination  text NOT NULL,    -- host:port
    repeatable   boolean NOT NULL, -- declared idempotent: may be sent again if its outcome is unknown
    may_be_sent  boolean NOT NULL DEFAULT false, -- an attempt may have reached the destination
    priority     integer NOT NULL DEFAULT 0,
    queued_at    timestamptz,
    due_at       timestamptz,      -- not before
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, action_id)
);
CREATE UNIQUE INDEX execution_calls_by_execution ON execution_calls (org_id, execution_id);
CREATE INDEX execution_calls_running_by_agent ON execution_calls (org_id, agent_id) WHERE state = 'running';
CREATE INDEX execution_calls_running_by_destination ON execution_calls (org_id, destination) WHERE state = 'running';
CREATE INDEX execution_calls_queued ON execution_calls (org_id, due_at) WHERE state = 'queued';
CREATE INDEX execution_calls_failed ON execution_calls (org_id, action_id, execution_id) WHERE state = 'failed';
CREATE INDEX execution_calls_to_forget ON execution_calls (updated_at) WHERE state IN ('kept', 'failed');
CALL isolate_organizations('execution_calls');
GRANT SELECT, INSERT ON execution_calls TO headgate_api;
GRANT SELECT ON execution_calls TO headgate_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON execution_calls TO headgate_definer;

-- Rate (GCRA: caught_up_at is the theoretical arrival time) and circuit breaker of each destination.
CREATE TABLE destinations (
    org_id       text COLLATE "C" NOT NULL,
    destination  text COLLATE "C" NOT NULL,
    caught_up_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures     integer NOT NULL DEFAULT 0, -- consecutive
    open_until   timestamptz,
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, destination)
);
CALL isolate_organizations('destinations');
GRANT SELECT ON destinations TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON destinations TO headgate_definer;
