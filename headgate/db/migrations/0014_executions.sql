-- Explicit actions that Headgate carries out itself (docs/decisions/0016-the-queue-and-executions.md).

-- The calls that wait, run, or may be tried again. The call itself is in the vault, as "call/<action>": it may hold
-- secrets, and is forgotten when it has run.
CREATE TABLE execution_calls (
    org_id       text COLLATE "C" NOT NULL,
    action_id    text COLLATE "C" NOT NULL,
    execution_id text COLLATE "C", -- null: not queued yet, it waits for its approval
    agent_id     text COLLATE "C" NOT NULL,
    tool         text NOT NULL,    -- as of the action: dead letters are listed by it
    operation    text NOT NULL,
    state        text NOT NULL DEFAULT 'kept' CHECK (state IN ('kept', 'queued', 'running', 'failed')),
    destination  text NOT NULL,    -- host:port
    repeatable   boolean NOT NULL, -- declared idempotent: may be sent again where its outcome is unknown
    may_be_sent  boolean NOT NULL DEFAULT false, -- some attempt may have reached the destination
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

-- What is known of each destination: how fast it is called (GCRA: when it will have caught up), and its breaker.
CREATE TABLE destinations (
    org_id      text COLLATE "C" NOT NULL,
    destination text COLLATE "C" NOT NULL,
    caught_up_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures    integer NOT NULL DEFAULT 0, -- in a row
    open_until  timestamptz,
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, destination)
);

CALL isolate_organizations('execution_calls');
CALL isolate_organizations('destinations');

GRANT SELECT, INSERT ON execution_calls TO headgate_api;
GRANT SELECT ON execution_calls, destinations TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON execution_calls, destinations TO headgate_definer;
GRANT UPDATE (used_at, used_by) ON approvals TO headgate_definer;
GRANT SELECT, DELETE ON vault_secrets TO headgate_definer;
GRANT DELETE ON vault_secrets TO headgate_worker;

-- Lists are ordered by action, then execution, so that one agent's are found by the agent's own index.
DROP INDEX executions_by_action;
CREATE INDEX executions_by_action ON executions (org_id, action_id, execution_id);
CREATE INDEX executions_not_succeeded ON executions (org_id, status, action_id, execution_id) WHERE status IN ('queued', 'failed');
-- By tool, and those that agents submit, which are the few (a page of them would else be sought among all).
CREATE INDEX actions_by_tool ON actions (org_id, tool, action_id);
CREATE INDEX actions_explicit ON actions (org_id, action_id) WHERE source = 'api';
CREATE INDEX executions_ended ON executions (org_id, completed_at) WHERE completed_at IS NOT NULL;

-- The kept call of an action becomes an execution, and a job, in the caller's transaction: that of the decision or of
-- the vote. False: nothing is kept for it (its agent carries it out), or it is queued already.
CREATE FUNCTION queue_execution(p_org text, p_action text, p_execution text, p_at timestamptz, p_priority integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE execution_calls SET state = 'queued', execution_id = p_execution, priority = p_priority, queued_at = p_at,
                               due_at = p_at, updated_at = p_at
    WHERE org_id = p_org AND action_id = p_action AND state = 'kept';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO executions (org_id, execution_id, action_id, status, attempts) VALUES (p_org, p_execution, p_action, 'queued', 0);
    PERFORM defer_job('executions', 'action.execute', p_org, p_execution, p_priority, NULL, NULL, 'execute ' || p_execution);
    RETURN true;
END $$;

-- Claims an attempt before the first byte is sent. The generation is that of the policies which agreed a moment ago.
-- outcome: claimed | stale | gone (it does not wait any more) | refused (its approval is not there to be used, its agent
-- is gone) | busy (wait_seconds: for its time, its destination's breaker or rate, or a free place).
CREATE FUNCTION claim_execution(
    p_org text, p_execution text, p_generation bigint, p_instance text, p_at timestamptz, p_redecided text, p_started text,
    p_agent_most integer, p_destination_most integer, p_per_second double precision, p_breaker_failures integer
) RETURNS TABLE (outcome text, wait_seconds double precision, attempt integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    waiting execution_calls;
    approval approvals;
    target destinations;
    moment timestamptz := clock_timestamp();
    pause interval := make_interval(secs => 1 / p_per_second);
BEGIN
    outcome := 'gone'; wait_seconds := 0; attempt := 0;
    SELECT * INTO waiting FROM execution_calls c WHERE c.org_id = p_org AND c.execution_id = p_execution FOR UPDATE;
    IF waiting.state IS DISTINCT FROM 'queued' THEN
        RETURN NEXT; RETURN;
    END IF;
    IF waiting.due_at > moment + interval '50 milliseconds' THEN
        outcome := 'busy'; wait_seconds := extract(epoch FROM waiting.due_at - moment);
        RETURN NEXT; RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = waiting.agent_id AND a.status = 'active') THEN
        outcome := 'refused';
        RETURN NEXT; RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation) THEN
        outcome := 'stale';
        RETURN NEXT; RETURN;
    END IF;
    SELECT p.* INTO approval FROM actions a JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id
    WHERE a.org_id = p_org AND a.action_id = waiting.action_id FOR UPDATE OF p;
    IF approval.approval_id IS NOT NULL AND approval.used_by IS DISTINCT FROM p_execution
       AND (approval.status <> 'approved' OR approval.used_at IS NOT NULL
            OR moment >= greatest(approval.expires_at, approval.decided_at + interval '15 minutes')) THEN
        outcome := 'refused';
        RETURN NEXT; RETURN;
    END IF;
    -- From here on the claims of one destination come one after the other, so that the counts are true.
    INSERT INTO destinations (org_id, destination) VALUES (p_org, waiting.destination) ON CONFLICT DO NOTHING;
    SELECT * INTO target FROM destinations d WHERE d.org_id = p_org AND d.destination = waiting.destination FOR UPDATE;
    moment := clock_timestamp();
    outcome := 'busy';
    IF target.open_until > moment THEN
        wait_seconds := extract(epoch FROM target.open_until - moment);
        RETURN NEXT; RETURN;
    END IF;
    IF target.caught_up_at > moment + greatest(interval '1 second', pause) THEN
        wait_seconds := extract(epoch FROM target.caught_up_at - moment - interval '1 second');
        RETURN NEXT; RETURN;
    END IF;
    wait_seconds := 0.25;
    PERFORM pg_advisory_xact_lock(hashtextextended('headgate.executions ' || p_org || waiting.agent_id, 0));
    IF (SELECT count(*) FROM execution_calls c WHERE c.org_id = p_org AND c.destination = waiting.destination AND c.state = 'running')
           -- Half open: one call tries whether the destination is there again.
           >= (CASE WHEN target.failures >= p_breaker_failures THEN 1 ELSE p_destination_most END)
       OR (SELECT count(*) FROM execution_calls c WHERE c.org_id = p_org AND c.agent_id = waiting.agent_id AND c.state = 'running')
           >= p_agent_most THEN
        RETURN NEXT; RETURN;
    END IF;
    UPDATE destinations d SET caught_up_at = greatest(d.caught_up_at, moment) + pause, updated_at = moment
    WHERE d.org_id = p_org AND d.destination = waiting.destination;
    UPDATE execution_calls c SET state = 'running', updated_at = p_at WHERE c.org_id = p_org AND c.action_id = waiting.action_id;
    UPDATE executions e SET status = 'running', instance_id = p_instance, attempts = e.attempts + 1, started_at = p_at,
                            completed_at = NULL, error = NULL, result = NULL
    WHERE e.org_id = p_org AND e.execution_id = p_execution RETURNING e.attempts INTO attempt;
    UPDATE actions a SET status = 'executing', updated_at = p_at WHERE a.org_id = p_org AND a.action_id = waiting.action_id;
    IF approval.approval_id IS NOT NULL THEN
        UPDATE approvals p SET used_at = coalesce(p.used_at, moment), used_by = p_execution
        WHERE p.org_id = p_org AND p.approval_id = approval.approval_id;
    END IF;
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'decision.made', waiting.action_id, waiting.agent_id, p_at, p_redecided),
           (p_org, 'execution.started', waiting.action_id, waiting.agent_id, p_at, p_started);
    outcome := 'claimed'; wait_seconds := 0;
    RETURN NEXT;
END $$;

-- How an attempt, or what was never tried, ended. p_again: it waits again, until p_due. p_state: whose it must be
-- ('running' for an attempt, 'queued' for what is not tried). p_healthy: whether the destination was there (null: not
-- asked). p_withheld: the payload of an event that says that policies about content let nobody see the answer.
-- p_nothing_sent: not a byte of this attempt left. p_give_back: what unsent_exemption answered. p_instance, p_started:
-- whose attempt it must be, and when that was begun: it tells an attempt apart from the others of its execution, as their
-- number begins anew where a person gives it all its attempts again. False: somebody else ended it first; nothing was
-- written.
CREATE FUNCTION settle_execution(
    p_org text, p_execution text, p_state text, p_at timestamptz, p_succeeded boolean, p_error text, p_result text,
    p_payload text, p_due timestamptz, p_healthy boolean, p_breaker_failures integer, p_breaker_seconds integer,
    p_withheld text DEFAULT NULL, p_nothing_sent boolean DEFAULT false, p_give_back text DEFAULT NULL,
    p_instance text DEFAULT NULL, p_started timestamptz DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    ended execution_calls;
BEGIN
    SELECT * INTO ended FROM execution_calls c
    WHERE c.org_id = p_org AND c.execution_id = p_execution AND c.state = p_state FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM execution_outcomes o WHERE o.org_id = p_org AND o.execution_id = p_execution) THEN
        RETURN false;
    END IF;
    -- A worker that stood still, was taken for dead and wakes tells of its own attempt, never of the one after it.
    IF p_instance IS NOT NULL AND NOT EXISTS (
        SELECT FROM executions e WHERE e.org_id = p_org AND e.execution_id = p_execution
          AND e.instance_id = p_instance AND e.started_at = p_started) THEN
        RETURN false;
    END IF;
    IF p_healthy IS NOT NULL THEN
        UPDATE destinations d SET
            failures = CASE WHEN p_healthy THEN 0 ELSE d.failures + 1 END,
            open_until = CASE WHEN p_healthy OR d.failures + 1 < p_breaker_failures THEN NULL ELSE clock_timestamp()
                + make_interval(secs => p_breaker_seconds * 2 ^ least(d.failures + 1 - p_breaker_failures, 5)) END,
            updated_at = clock_timestamp()
        WHERE d.org_id = p_org AND d.destination = ended.destination
          AND (NOT p_healthy OR d.failures > 0 OR d.open_until IS NOT NULL);
    END IF;
    IF p_withheld IS NOT NULL THEN
        INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
        VALUES (p_org, 'response.withheld', ended.action_id, ended.agent_id, p_at, p_withheld);
    END IF;
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, CASE WHEN p_due IS NOT NULL THEN 'execution.rescheduled' WHEN p_succeeded THEN 'execution.completed'
                        ELSE 'execution.failed' END, ended.action_id, ended.agent_id, p_at, p_payload);
    IF p_due IS NOT NULL THEN
        UPDATE execution_calls c SET state = 'queued', due_at = p_due, updated_at = p_at,
                                     may_be_sent = c.may_be_sent OR (p_state = 'running' AND NOT p_nothing_sent)
        WHERE c.org_id = p_org AND c.action_id = ended.action_id;
        UPDATE executions e SET status = 'queued', instance_id = NULL, error = p_error, result = p_result
        WHERE e.org_id = p_org AND e.execution_id = p_execution;
        PERFORM defer_job('executions', 'action.execute', p_org, p_execution, ended.priority, p_due, NULL, 'execute ' || p_execution);
        RETURN true;
    END IF;
    UPDATE executions e SET status = CASE WHEN p_succeeded THEN 'succeeded' ELSE 'failed' END, completed_at = p_at,
                            started_at = coalesce(e.started_at, p_at), error = p_error, result = p_result
    WHERE e.org_id = p_org AND e.execution_id = p_execution;
    UPDATE actions a SET status = CASE WHEN p_succeeded THEN 'completed' ELSE 'failed' END, updated_at = p_at
    WHERE a.org_id = p_org AND a.action_id = ended.action_id;
    IF p_succeeded THEN
        DELETE FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = ended.action_id;
        DELETE FROM vault_secrets v WHERE v.org_id = p_org AND v.name = 'call/' || ended.action_id;
    ELSE
        UPDATE execution_calls c SET state = 'failed', updated_at = p_at,
                                     may_be_sent = c.may_be_sent OR (p_state = 'running' AND NOT p_nothing_sent)
        WHERE c.org_id = p_org AND c.action_id = ended.action_id;
        IF p_give_back IS NOT NULL THEN
            PERFORM give_back_exemption(p_org, p_give_back, ended.action_id, NULL, p_at);
        END IF;
    END IF;
    RETURN true;
END $$;

-- Of an execution that is about to end as failed without having been sent, by this attempt or an earlier one: the grant,
-- or the broken glass, that let it through, and whose use is not given back yet. Locked until that is done.
CREATE FUNCTION unsent_exemption(p_org text, p_execution text, p_state text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    unsent execution_calls;
BEGIN
    SELECT * INTO unsent FROM execution_calls c
    WHERE c.org_id = p_org AND c.execution_id = p_execution AND c.state = p_state AND NOT c.may_be_sent FOR UPDATE;
    RETURN coalesce(
        (SELECT u.grant_id FROM grant_uses u
         WHERE u.org_id = p_org AND u.action_id = unsent.action_id AND u.given_back_at IS NULL),
        (SELECT b.pass_id FROM break_glass b WHERE b.org_id = p_org AND b.used_action_id = unsent.action_id));
END $$;

-- Attempts whose process is gone, found a moment ago: each is looked at again, as another worker may have closed it
-- since, and a live one have begun the next. What is declared idempotent waits again, at once, as long as it has
-- attempts left. Returns those that are the caller's to end as failed; what agents sent themselves is among them.
CREATE FUNCTION release_orphans(
    p_org text, p_executions text[], p_instances text[], p_started timestamptz[], p_most_attempts integer,
    p_at timestamptz, p_payload text
) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    to_end text[] := '{}';
    orphan record;
    lost execution_calls;
    attempt integer;
BEGIN
    FOR orphan IN SELECT * FROM unnest(p_executions, p_instances, p_started) AS t(execution_id, instance_id, started_at)
                  ORDER BY t.execution_id LOOP
        SELECT * INTO lost FROM execution_calls c
        WHERE c.org_id = p_org AND c.execution_id = orphan.execution_id FOR UPDATE;
        SELECT e.attempts INTO attempt FROM executions e
        WHERE e.org_id = p_org AND e.execution_id = orphan.execution_id AND e.status = 'running'
          AND e.instance_id = orphan.instance_id AND e.started_at = orphan.started_at;
        CONTINUE WHEN NOT FOUND;
        IF lost.action_id IS NULL THEN
            to_end := to_end || orphan.execution_id;
        ELSIF lost.state = 'running' THEN
            IF lost.repeatable AND attempt < p_most_attempts THEN
                PERFORM settle_execution(p_org, orphan.execution_id, 'running', p_at, false, NULL, NULL, p_payload, p_at,
                                         NULL, 1, 1);
            ELSE
                UPDATE execution_calls c SET state = 'failed', may_be_sent = true, updated_at = p_at
                WHERE c.org_id = p_org AND c.execution_id = orphan.execution_id;
                to_end := to_end || orphan.execution_id;
            END IF;
        END IF;
    END LOOP;
    RETURN to_end;
END $$;

-- A failed execution waits again, by a person's order. outcome: queued | gone (not failed) | forgotten (its call is not
-- kept any more).
CREATE FUNCTION retry_execution(p_org text, p_execution text, p_at timestamptz, p_reset boolean, p_payload text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    kept execution_calls;
BEGIN
    SELECT * INTO kept FROM execution_calls c WHERE c.org_id = p_org AND c.execution_id = p_execution FOR UPDATE;
    IF NOT EXISTS (SELECT FROM executions e WHERE e.org_id = p_org AND e.execution_id = p_execution AND e.status = 'failed')
       OR (kept.action_id IS NOT NULL AND kept.state <> 'failed') THEN
        RETURN 'gone';
    END IF;
    IF kept.action_id IS NULL THEN
        RETURN 'forgotten';
    END IF;
    UPDATE execution_calls c SET state = 'queued', queued_at = p_at, due_at = p_at, updated_at = p_at
    WHERE c.org_id = p_org AND c.action_id = kept.action_id;
    UPDATE executions e SET status = 'queued', instance_id = NULL, completed_at = NULL,
                            attempts = CASE WHEN p_reset THEN 0 ELSE e.attempts END
    WHERE e.org_id = p_org AND e.execution_id = p_execution;
    UPDATE actions a SET status = 'executing', updated_at = p_at WHERE a.org_id = p_org AND a.action_id = kept.action_id;
    -- The sweep has passed it by, and has to look at it again.
    INSERT INTO retention_waiting (org_id, task, action_id)
    SELECT p_org, 'encrypt', a.action_id FROM actions a
    WHERE a.org_id = p_org AND a.action_id = kept.action_id AND a.body_state = 'kept'
    ON CONFLICT DO NOTHING;
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'execution.retried', kept.action_id, kept.agent_id, p_at, p_payload);
    PERFORM defer_job('executions', 'action.execute', p_org, p_execution, kept.priority, NULL, NULL, 'execute ' || p_execution);
    RETURN 'queued';
END $$;

-- What waits is due now: the order of deferring is kept. p_execution null: all of them. Returns how many.
CREATE FUNCTION process_executions(p_org text, p_execution text, p_at timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    waiting execution_calls;
    count integer := 0;
BEGIN
    FOR waiting IN SELECT * FROM execution_calls c WHERE c.org_id = p_org AND c.state = 'queued'
                   AND (p_execution IS NULL OR c.execution_id = p_execution) ORDER BY c.due_at FOR UPDATE LOOP
        UPDATE execution_calls c SET due_at = least(c.due_at, p_at) WHERE c.org_id = p_org AND c.action_id = waiting.action_id;
        -- A name of its own: the job that waits for its time does not stand in the way, and finds nothing to do.
        PERFORM defer_job('executions', 'action.execute', p_org, waiting.execution_id, waiting.priority, NULL, NULL,
                          'process ' || waiting.execution_id);
        count := count + 1;
    END LOOP;
    RETURN count;
END $$;

-- An agent says how an action ended that it carried out itself. outcome: reported | ours (Headgate carries it out) |
-- wrong (its status is not one in which it could have been carried out; or its approval is used up or over).
CREATE FUNCTION report_outcome(
    p_org text, p_action text, p_agent text, p_execution text, p_at timestamptz, p_succeeded boolean, p_error text,
    p_result text, p_started text, p_payload text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    action actions;
    approval approvals;
BEGIN
    SELECT * INTO action FROM actions a WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent FOR UPDATE;
    IF action.source IS DISTINCT FROM 'api'
       OR EXISTS (SELECT FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action) THEN
        RETURN 'ours';
    END IF;
    IF action.status NOT IN ('allowed', 'approved') THEN
        RETURN 'wrong';
    END IF;
    IF action.approval_id IS NOT NULL THEN
        SELECT * INTO approval FROM approvals p WHERE p.org_id = p_org AND p.approval_id = action.approval_id FOR UPDATE;
        IF approval.status <> 'approved' OR approval.used_at IS NOT NULL THEN
            RETURN 'wrong';
        END IF;
        UPDATE approvals p SET used_at = clock_timestamp(), used_by = p_execution
        WHERE p.org_id = p_org AND p.approval_id = action.approval_id;
    END IF;
    -- Of an action whose bodies were dropped or erased nothing is kept any more.
    INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at, completed_at, error, result)
    VALUES (p_org, p_execution, p_action, CASE WHEN p_succeeded THEN 'succeeded' ELSE 'failed' END, 1, p_at, p_at,
            CASE WHEN action.body_state = 'erased' AND p_error IS NOT NULL THEN 'erased' ELSE p_error END,
            CASE WHEN action.body_state IN ('clear', 'kept') THEN p_result END);
    UPDATE actions a SET status = CASE WHEN p_succeeded THEN 'completed' ELSE 'failed' END, updated_at = p_at
    WHERE a.org_id = p_org AND a.action_id = p_action;
    IF action.body_state = 'kept' AND p_result IS NOT NULL THEN
        INSERT INTO retention_waiting (org_id, task, action_id) VALUES (p_org, 'encrypt', p_action) ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'execution.started', p_action, p_agent, p_at, p_started),
           (p_org, CASE WHEN p_succeeded THEN 'execution.completed' ELSE 'execution.failed' END, p_action, p_agent, p_at, p_payload);
    RETURN 'reported';
END $$;

-- An agent takes back what has not begun: its approval, or its place in the queue. p_execution: of an execution that is
-- recorded as failed; outcome: cancelled | wrong (the status says why not).
CREATE FUNCTION cancel_action(
    p_org text, p_action text, p_agent text, p_at timestamptz, p_error text, p_payload text, p_failed text, p_give_back text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    action actions;
    kept execution_calls;
    open_approval approvals;
BEGIN
    -- An open approval first, as a vote does, so that of a vote and this one the second sees the first.
    SELECT p.* INTO open_approval FROM actions a JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id
    WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent AND p.status = 'pending' FOR UPDATE OF p;
    IF NOT EXISTS (SELECT FROM actions a WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent) THEN
        RETURN 'wrong';
    END IF;
    SELECT * INTO kept FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action FOR UPDATE;
    SELECT * INTO action FROM actions a WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent FOR UPDATE;
    IF action.status = 'pending_approval' AND open_approval.status = 'pending' THEN
        UPDATE approvals p SET status = 'expired' WHERE p.org_id = p_org AND p.approval_id = open_approval.approval_id;
        UPDATE actions a SET status = 'denied', updated_at = p_at WHERE a.org_id = p_org AND a.action_id = p_action;
    ELSIF kept.state = 'queued' THEN
        PERFORM settle_execution(p_org, kept.execution_id, 'queued', p_at, false, p_error, NULL, p_failed, NULL, NULL, 1, 1,
                                 p_give_back => p_give_back);
    ELSE
        RETURN 'wrong';
    END IF;
    DELETE FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action;
    DELETE FROM vault_secrets v WHERE v.org_id = p_org AND v.name = 'call/' || p_action;
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'action.cancelled', p_action, p_agent, p_at, p_payload);
    RETURN 'cancelled';
END $$;

-- Calls that will not run any more: failed a while ago, or never approved. Over all organizations; returns how many.
CREATE FUNCTION forget_calls(p_after interval, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    old execution_calls;
    count integer := 0;
BEGIN
    FOR old IN SELECT c.* FROM execution_calls c JOIN actions a ON a.org_id = c.org_id AND a.action_id = c.action_id
               WHERE c.state IN ('kept', 'failed') AND (a.status = 'denied' OR c.updated_at < clock_timestamp() - p_after)
                 AND a.status <> 'pending_approval' LIMIT p_limit FOR UPDATE OF c SKIP LOCKED LOOP
        DELETE FROM execution_calls c WHERE c.org_id = old.org_id AND c.action_id = old.action_id;
        DELETE FROM vault_secrets v WHERE v.org_id = old.org_id AND v.name = 'call/' || old.action_id;
        count := count + 1;
    END LOOP;
    RETURN count;
END $$;

-- Queued executions without a job that is due: a safety net, should a job ever be lost. Deferred again; how many.
CREATE FUNCTION find_lost_executions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    lost execution_calls;
    count integer := 0;
BEGIN
    FOR lost IN SELECT * FROM execution_calls c WHERE c.state = 'queued' AND c.due_at < clock_timestamp() - interval '2 minutes' LIMIT 500 LOOP
        IF defer_job('executions', 'action.execute', lost.org_id, lost.execution_id, lost.priority, NULL, NULL, 'execute ' || lost.execution_id) THEN
            count := count + 1;
        END IF;
    END LOOP;
    RETURN count;
END $$;

-- Breakers over all organizations: how many destinations are in which state, and no names.
CREATE FUNCTION breaker_states(p_breaker_failures integer) RETURNS TABLE (closed bigint, open bigint, half_open bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FILTER (WHERE d.failures < p_breaker_failures), count(*) FILTER (WHERE d.open_until > clock_timestamp()),
           count(*) FILTER (WHERE d.failures >= p_breaker_failures AND d.open_until <= clock_timestamp())
    FROM destinations d
$$;

CALL hand_to_definer('queue_execution', ARRAY['api', 'worker']);
CALL hand_to_definer('claim_execution', ARRAY['worker']);
CALL hand_to_definer('settle_execution', ARRAY['worker']);
CALL hand_to_definer('unsent_exemption', ARRAY['worker', 'api']);
CALL hand_to_definer('release_orphans', ARRAY['worker']);
CALL hand_to_definer('retry_execution', ARRAY['api']);
CALL hand_to_definer('process_executions', ARRAY['api']);
CALL hand_to_definer('report_outcome', ARRAY['api']);
CALL hand_to_definer('cancel_action', ARRAY['api']);
CALL hand_to_definer('forget_calls', ARRAY['worker']);
CALL hand_to_definer('find_lost_executions', ARRAY['worker']);
CALL hand_to_definer('breaker_states', ARRAY['api', 'worker']);

-- The worker decides too, before it carries out: what killed the one before it is quarantined by the next.
SET LOCAL ROLE headgate_definer;
GRANT EXECUTE ON FUNCTION quarantine_policy TO headgate_worker;
RESET ROLE;
