-- Approval requests, their votes, assignees and steps; groups of approvers, and absences.

CREATE TABLE approvals (
    org_id               text COLLATE "C" NOT NULL,
    approval_id          text COLLATE "C" NOT NULL,
    action_id            text COLLATE "C" NOT NULL,
    agent_id             text COLLATE "C" NOT NULL,
    source               text NOT NULL,
    digest               bytea NOT NULL,
    status               text NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
    requirements         text NOT NULL, -- canonical JSON: [{policy_id, policy_version, required_approvals, assignees}]
    required_approvals   integer NOT NULL CHECK (required_approvals >= 1),
    current_approvals    integer NOT NULL DEFAULT 0,
    reason               text NOT NULL,
    risk_level           text NOT NULL,
    policy_id            text COLLATE "C",
    repeats              text COLLATE "C", -- the used, expired or superseded approval of the same digest
    created_at           timestamptz NOT NULL,
    expires_at           timestamptz NOT NULL,
    held_until           timestamptz, -- how long the newest call waits for the decision; null: none has waited
    decided_at           timestamptz,
    decided_by           text COLLATE "C",
    comment              text,
    used_at              timestamptz,
    used_by              text COLLATE "C", -- the execution
    tool                 text, -- of the action, set by a trigger: lists filter by it
    escalate_at          timestamptz,
    escalated_at         timestamptz,
    remind_after_seconds integer CHECK (remind_after_seconds > 0),
    remind_at            timestamptz, -- null: no more reminders
    reminders            integer NOT NULL DEFAULT 0,
    -- An explicit action as the reviewer edited it. This is what was approved; actions.request is what the agent submitted.
    edited_request       text, -- masked, as actions.request
    edited_digest        bytea CHECK (octet_length(edited_digest) = 32),
    edited_decision      text, -- policy decision on the edited action, as actions.decision
    edited_by            text COLLATE "C",
    edited_at            timestamptz,
    PRIMARY KEY (org_id, approval_id)
);
CREATE INDEX approvals_by_digest ON approvals (org_id, agent_id, digest, approval_id);
-- At most one open approval per digest (semantics.md). Each explicit submission is a new action.
CREATE UNIQUE INDEX approvals_one_open ON approvals (org_id, agent_id, digest) WHERE status = 'pending' AND source = 'proxy';
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_held ON approvals (org_id, held_until) WHERE status = 'pending' AND held_until IS NOT NULL;
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;
-- Counts the open approvals of an agent: an agent must not flood its reviewers (hold_action).
CREATE INDEX approvals_open_by_agent ON approvals (org_id, agent_id) WHERE status = 'pending';
CREATE INDEX approvals_to_escalate ON approvals (escalate_at) WHERE status = 'pending' AND escalated_at IS NULL;
CREATE INDEX approvals_to_remind ON approvals (remind_at) WHERE status = 'pending';
-- Lists, newest first: an index for each filter, and for pairs of filters that each match many rows. For other pairs the
-- second filter is a column of the index, so that rows which it rejects are not fetched
-- (docs/decisions/0035-an-index-for-each-filter.md).
CREATE INDEX approvals_by_status ON approvals (org_id, status, approval_id);
CREATE INDEX approvals_by_agent ON approvals (org_id, agent_id, approval_id, tool, policy_id, risk_level, status);
CREATE INDEX approvals_by_agent_and_status ON approvals (org_id, agent_id, status, approval_id);
CREATE INDEX approvals_by_risk ON approvals (org_id, risk_level, approval_id);
CREATE INDEX approvals_by_risk_and_status ON approvals (org_id, risk_level, status, approval_id);
CREATE INDEX approvals_by_policy ON approvals (org_id, policy_id, approval_id, agent_id, tool, risk_level, status);
CREATE INDEX approvals_by_tool ON approvals (org_id, tool, approval_id, agent_id, policy_id, risk_level, status);
CREATE INDEX approvals_by_tool_and_status ON approvals (org_id, tool, status, approval_id);
-- include headgate.db/schema/functions/approvals/name_tool_of_approval.sql
CREATE TRIGGER name_tool BEFORE INSERT ON approvals FOR EACH ROW EXECUTE FUNCTION name_tool_of_approval();
-- include headgate.db/schema/functions/approvals/move_approval_of_assignees.sql
CREATE TRIGGER move_assignees AFTER UPDATE OF status ON approvals
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION move_approval_of_assignees();
CALL isolate_organizations('approvals');
GRANT SELECT, UPDATE (status, requirements, current_approvals, decided_at, decided_by, comment, escalated_at, remind_at,
    reminders, edited_request, edited_digest, edited_decision, edited_by, edited_at) ON approvals TO headgate_api;
GRANT SELECT ON approvals TO headgate_proxy;
GRANT SELECT, UPDATE (status, requirements, current_approvals, decided_at, decided_by, comment, escalated_at, remind_at,
    reminders) ON approvals TO headgate_worker;
GRANT SELECT, INSERT, UPDATE ON approvals TO headgate_definer;

CREATE TABLE approval_votes (
    org_id       text COLLATE "C" NOT NULL,
    approval_id  text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL, -- the voter: a user, or a key that no user created
    key_id       text COLLATE "C",
    decision     text NOT NULL CHECK (decision IN ('approve', 'deny')),
    reason       text,
    decided_at   timestamptz NOT NULL,
    email        text, -- email, as_admin, standing: as checked when the vote was cast, whatever changes later
    as_admin     boolean NOT NULL DEFAULT false,
    standing     text NOT NULL DEFAULT '[]', -- canonical JSON: [{policy_id, free, roles}]
    on_behalf_of text COLLATE "C", -- the absent user whose assignment the voter used
    digest       bytea, -- of the action that the voter approved or denied
    PRIMARY KEY (org_id, approval_id, user_id)
);
CALL isolate_organizations('approval_votes');
GRANT SELECT, INSERT ON approval_votes TO headgate_api;
GRANT SELECT ON approval_votes TO headgate_worker;
GRANT SELECT, UPDATE (reason, digest) ON approval_votes TO headgate_definer;

-- The assignees of an approval, one row per name, for the list of one person's approvals. requirements says the same.
CREATE TABLE approval_assignees (
    org_id      text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL, -- ASCII letters in lower case: a user id, an email address, or group:name
    approval_id text COLLATE "C" NOT NULL,
    status      text NOT NULL DEFAULT 'pending', -- of the approval, set by a trigger
    PRIMARY KEY (org_id, name, approval_id)
);
CREATE INDEX approval_assignees_by_status ON approval_assignees (org_id, name, status, approval_id);
CREATE INDEX approval_assignees_by_approval ON approval_assignees (org_id, approval_id);
CALL isolate_organizations('approval_assignees');
GRANT SELECT, INSERT, UPDATE (status), DELETE ON approval_assignees TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE (status) ON approval_assignees TO headgate_definer;

-- Steps of an approval other than votes and use: reassigned, escalated, reminded, edited.
CREATE TABLE approval_steps (
    org_id      text COLLATE "C" NOT NULL,
    approval_id text COLLATE "C" NOT NULL,
    step        integer NOT NULL, -- 1, 2, 3 … under the lock of the approval
    verb        text NOT NULL,
    at          timestamptz NOT NULL,
    by          text COLLATE "C", -- null: the worker, at its time
    email       text,
    reason      text,
    data        text NOT NULL, -- canonical JSON
    PRIMARY KEY (org_id, approval_id, step)
);
CALL isolate_organizations('approval_steps');
GRANT SELECT, INSERT ON approval_steps TO headgate_api, headgate_worker;
GRANT SELECT, UPDATE (reason, data) ON approval_steps TO headgate_definer;

CREATE TABLE approver_groups (
    org_id      text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z][a-z0-9_-]{0,63}$'),
    description text CHECK (length(description) <= 1000),
    members     text[] NOT NULL, -- ASCII letters in lower case: user ids and email addresses
    version     integer NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, name)
);
CALL isolate_organizations('approver_groups');
GRANT SELECT, INSERT, UPDATE, DELETE ON approver_groups TO headgate_api;
-- The proxy counts the people of a grant by their groups of now.
GRANT SELECT ON approver_groups TO headgate_worker, headgate_proxy;

CREATE TABLE approver_absences (
    org_id     text COLLATE "C" NOT NULL,
    absence_id text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL, -- the absent user
    stand_in   text COLLATE "C" NOT NULL, -- the delegate
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz NOT NULL CHECK (ends_at > starts_at), -- set to an earlier time when the absence is cancelled
    note       text CHECK (length(note) <= 500),
    created_by text COLLATE "C",
    created_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, absence_id),
    CHECK (user_id <> stand_in)
);
CREATE INDEX approver_absences_by_user ON approver_absences (org_id, user_id, ends_at);
CREATE INDEX approver_absences_by_stand_in ON approver_absences (org_id, stand_in, ends_at);
-- Few absences have not ended.
CREATE INDEX approver_absences_by_end ON approver_absences (org_id, ends_at);
CALL isolate_organizations('approver_absences');
GRANT SELECT, INSERT, UPDATE (ends_at) ON approver_absences TO headgate_api;
GRANT SELECT ON approver_absences TO headgate_worker;
