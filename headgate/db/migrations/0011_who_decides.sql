-- Who decides an approval, and when it ends: groups of approvers, stand-ins, people who have left, what a vote counted
-- for, whom the clock tells of it, what a reviewer changed; and lists of it all that read by index.

ALTER TABLE users ADD COLUMN deactivated_at timestamptz; -- may not sign in, vote or stand in from then on

ALTER TABLE approvals
    ADD COLUMN tool                 text, -- the action's, for the lists
    ADD COLUMN escalate_at          timestamptz,
    ADD COLUMN escalated_at         timestamptz,
    ADD COLUMN remind_after_seconds integer CHECK (remind_after_seconds > 0),
    ADD COLUMN remind_at            timestamptz, -- null: nobody is reminded any more
    ADD COLUMN reminders            integer NOT NULL DEFAULT 0,
    -- What a reviewer made of an explicit action, which is what was then approved; actions.request is what was asked.
    ADD COLUMN edited_request       text, -- masked, as actions.request
    ADD COLUMN edited_digest        bytea CHECK (octet_length(edited_digest) = 32),
    ADD COLUMN edited_decision      text, -- of the policies, on the edited action: as actions.decision
    ADD COLUMN edited_by            text COLLATE "C",
    ADD COLUMN edited_at            timestamptz;

-- What counts is what was checked when the vote was cast, whatever becomes of the voter and the groups.
ALTER TABLE approval_votes
    ADD COLUMN standing     text NOT NULL DEFAULT '[]', -- canonical JSON: [{policy_id, free, roles}]
    ADD COLUMN on_behalf_of text COLLATE "C", -- the absent user whose assignment it used
    ADD COLUMN digest       bytea; -- of the action that the voter approved or denied

-- Whom an approval is assigned to, by each name, for the list of one person's: requirements say the same.
CREATE TABLE approval_assignees (
    org_id      text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL, -- lower case: a user's id, an e-mail address, group:name
    approval_id text COLLATE "C" NOT NULL,
    status      text NOT NULL DEFAULT 'pending', -- the approval's
    PRIMARY KEY (org_id, name, approval_id)
);
CREATE INDEX approval_assignees_by_status ON approval_assignees (org_id, name, status, approval_id);
CREATE INDEX approval_assignees_by_approval ON approval_assignees (org_id, approval_id);

-- What happened to an approval beside votes and use: reassigned, escalated, reminded, edited.
CREATE TABLE approval_steps (
    org_id      text COLLATE "C" NOT NULL,
    approval_id text COLLATE "C" NOT NULL,
    step        integer NOT NULL, -- 1, 2, 3 … under the approval's lock
    verb        text NOT NULL,
    at          timestamptz NOT NULL,
    by          text COLLATE "C", -- null: the clock
    email       text,
    reason      text,
    data        text NOT NULL, -- canonical JSON
    PRIMARY KEY (org_id, approval_id, step)
);

CREATE TABLE approver_groups (
    org_id      text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z][a-z0-9_-]{0,63}$'),
    description text CHECK (length(description) <= 1000),
    members     text[] NOT NULL, -- lower case: users' ids and e-mail addresses
    version     integer NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, name)
);

CREATE TABLE approver_absences (
    org_id     text COLLATE "C" NOT NULL,
    absence_id text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL, -- who is away
    stand_in   text COLLATE "C" NOT NULL, -- the user who decides meanwhile
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz NOT NULL CHECK (ends_at > starts_at), -- moved forward when it is called off
    note       text CHECK (length(note) <= 500),
    created_by text COLLATE "C",
    created_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, absence_id),
    CHECK (user_id <> stand_in)
);
CREATE INDEX approver_absences_by_user ON approver_absences (org_id, user_id, ends_at);
CREATE INDEX approver_absences_by_stand_in ON approver_absences (org_id, stand_in, ends_at);

CALL isolate_organizations('approval_assignees');
CALL isolate_organizations('approval_steps');
CALL isolate_organizations('approver_groups');
CALL isolate_organizations('approver_absences');

GRANT SELECT ON approval_assignees, approval_steps, approver_groups, approver_absences TO headgate_api, headgate_worker;
GRANT INSERT, DELETE, UPDATE (status) ON approval_assignees TO headgate_api, headgate_worker;
GRANT INSERT ON approval_steps TO headgate_api, headgate_worker;
GRANT INSERT, UPDATE, DELETE ON approver_groups TO headgate_api;
GRANT INSERT ON approver_absences TO headgate_api;
GRANT UPDATE (ends_at) ON approver_absences TO headgate_api;
GRANT UPDATE (requirements, escalated_at, remind_at, reminders) ON approvals TO headgate_api, headgate_worker;
GRANT UPDATE (edited_request, edited_digest, edited_decision, edited_by, edited_at) ON approvals TO headgate_api;
GRANT SELECT, INSERT, UPDATE (status) ON approval_assignees TO headgate_definer;

-- Beside a new approval, in the transaction that opens it: whom it is assigned to, and when the clock looks after it.
-- Only once, and only while it is pending: what people have changed since is not undone.
CREATE FUNCTION attend_approval(
    p_org text, p_approval text, p_agent text, p_names text[], p_escalate timestamptz, p_remind_after integer,
    p_remind timestamptz
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE approvals SET escalate_at = p_escalate, remind_after_seconds = p_remind_after, remind_at = p_remind
    WHERE org_id = p_org AND approval_id = p_approval AND agent_id = p_agent AND status = 'pending'
      AND escalate_at IS NULL AND remind_after_seconds IS NULL AND current_approvals = 0
      AND NOT EXISTS (SELECT FROM approval_assignees x WHERE x.org_id = p_org AND x.approval_id = p_approval);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO approval_assignees (org_id, name, approval_id)
    SELECT DISTINCT p_org, n.name, p_approval FROM unnest(p_names) AS n(name);
    RETURN true;
END $$;

-- What the clock has to do, over all organizations; what has expired meanwhile is left to expiry.
CREATE FUNCTION escalations_due() RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a
    WHERE a.status = 'pending' AND a.escalated_at IS NULL AND a.escalate_at <= clock_timestamp()
      AND a.expires_at > clock_timestamp()
    ORDER BY a.escalate_at LIMIT 1000
$$;

CREATE FUNCTION reminders_due() RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a
    WHERE a.status = 'pending' AND a.remind_at <= clock_timestamp() AND a.expires_at > clock_timestamp()
    ORDER BY a.remind_at LIMIT 1000
$$;

-- The call that waits with an approval, where a reviewer makes another one of it (the table comes with 0014).
CREATE FUNCTION forget_kept_call(p_org text, p_action text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action AND c.state = 'kept';
END $$;

CALL hand_to_definer('forget_kept_call', ARRAY['api']);
CALL hand_to_definer('attend_approval', ARRAY['proxy', 'api']);
CALL hand_to_definer('escalations_due', ARRAY['worker']);
CALL hand_to_definer('reminders_due', ARRAY['worker']);

CREATE INDEX approvals_to_escalate ON approvals (escalate_at) WHERE status = 'pending' AND escalated_at IS NULL;
CREATE INDEX approvals_to_remind ON approvals (remind_at) WHERE status = 'pending';

-- The lists, newest first: by each filter, and by the pairs of which either alone leaves too many. Other pairs that seldom
-- meet are told apart by the index alone: what the second filter passes over is not fetched
-- (docs/decisions/0035-an-index-for-each-filter.md).
CREATE INDEX approvals_by_status ON approvals (org_id, status, approval_id);
CREATE INDEX approvals_by_agent ON approvals (org_id, agent_id, approval_id, tool, policy_id, risk_level, status);
CREATE INDEX approvals_by_agent_and_status ON approvals (org_id, agent_id, status, approval_id);
CREATE INDEX approvals_by_risk ON approvals (org_id, risk_level, approval_id);
CREATE INDEX approvals_by_risk_and_status ON approvals (org_id, risk_level, status, approval_id);
CREATE INDEX approvals_by_policy ON approvals (org_id, policy_id, approval_id, agent_id, tool, risk_level, status);
CREATE INDEX approvals_by_tool ON approvals (org_id, tool, approval_id, agent_id, policy_id, risk_level, status);
CREATE INDEX approvals_by_tool_and_status ON approvals (org_id, tool, status, approval_id);

-- Whoever opens an approval has written its action before.
CREATE FUNCTION name_tool_of_approval() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    SELECT a.tool INTO NEW.tool FROM actions a WHERE a.org_id = NEW.org_id AND a.action_id = NEW.action_id;
    RETURN NEW;
END $$;
CREATE TRIGGER name_tool BEFORE INSERT ON approvals FOR EACH ROW EXECUTE FUNCTION name_tool_of_approval();

-- Whoever moves an approval moves it in the lists of its people.
CREATE FUNCTION move_approval_of_assignees() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE approval_assignees x SET status = NEW.status WHERE x.org_id = NEW.org_id AND x.approval_id = NEW.approval_id;
    RETURN NULL;
END $$;
CREATE TRIGGER move_assignees AFTER UPDATE OF status ON approvals
FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION move_approval_of_assignees();

-- Those of before; the migrating role sees no organization's rows, the definer sees all.
SET LOCAL ROLE headgate_definer;
UPDATE approvals p SET tool = (SELECT a.tool FROM actions a WHERE a.org_id = p.org_id AND a.action_id = p.action_id);
RESET ROLE;
