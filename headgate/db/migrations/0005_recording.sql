-- What the proxy may do: record, hold, use, and tell how it ended. Its role has no INSERT on any table.
-- Arrays are parallel, one element a request; each carries its organization, and nothing is ever updated
-- through them but what the function names.

-- The actions decided by requests in flight, with their events, in one transaction (group commit). What became of
-- each, in the rows' order, separated by commas: recorded | stale (the organization's state moved since the decision:
-- reload and decide again) | duplicate (the idempotency key is taken) | unknown (no such agent in that organization).
-- The settings: one plan for good, which finds by index what is small today (planning anew costs as much as writing).
CREATE FUNCTION record_actions(
    p_org text[], p_generation bigint[], p_action text[], p_agent text[], p_key text[], p_source text[],
    p_tool text[], p_operation text[], p_status text[], p_digest bytea[], p_request text[], p_decision text[],
    p_risk text[], p_parent text[], p_created timestamptz[],
    p_execution text[], p_instance text[], p_idempotency text[], p_request_digest bytea[],
    p_submitted text[], p_decided text[], p_started text[]
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    outcomes text[];
BEGIN
    SELECT array_agg(CASE WHEN a.agent_id IS NULL THEN 'unknown' WHEN s.org_id IS NULL THEN 'stale' ELSE 'recorded' END
                     ORDER BY d.position)
    INTO outcomes
    FROM unnest(p_org, p_generation, p_agent) WITH ORDINALITY AS d(org_id, generation, agent_id, position)
    LEFT JOIN org_state s ON s.org_id = d.org_id AND s.generation = d.generation
    LEFT JOIN agents a ON a.org_id = d.org_id AND a.agent_id = d.agent_id AND a.status = 'active';

    -- Only explicit submissions have idempotency keys, and not all of those.
    IF cardinality(array_remove(p_idempotency, NULL)) > 0 THEN
        WITH claimed AS (
            INSERT INTO idempotency_keys AS k (org_id, agent_id, idempotency_key, request_digest, action_id)
            SELECT d.org_id, d.agent_id, d.idempotency_key, d.request_digest, d.action_id
            FROM unnest(p_org, p_agent, p_idempotency, p_request_digest, p_action, outcomes)
                AS d(org_id, agent_id, idempotency_key, request_digest, action_id, outcome)
            WHERE d.outcome = 'recorded' AND d.idempotency_key IS NOT NULL
            ON CONFLICT DO NOTHING
            RETURNING k.action_id
        )
        SELECT array_agg(CASE WHEN d.outcome = 'recorded' AND d.idempotency_key IS NOT NULL
                                   AND d.action_id NOT IN (SELECT c.action_id FROM claimed c)
                              THEN 'duplicate' ELSE d.outcome END ORDER BY d.position)
        INTO outcomes
        FROM unnest(p_idempotency, p_action, outcomes) WITH ORDINALITY AS d(idempotency_key, action_id, outcome, position);
    END IF;

    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request,
                         decision, risk_level, parent_action_id, created_at, updated_at)
    SELECT n.org_id, n.action_id, n.agent_id, n.key_id, n.source, n.tool, n.operation, n.status, n.digest, n.request,
           n.decision, n.risk_level, n.parent_action_id, n.created_at, n.created_at
    FROM unnest(p_org, p_action, p_agent, p_key, p_source, p_tool, p_operation, p_status, p_digest, p_request, p_decision,
                p_risk, p_parent, p_created, outcomes)
        AS n(org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request, decision,
             risk_level, parent_action_id, created_at, outcome)
    WHERE n.outcome = 'recorded';

    INSERT INTO executions (org_id, execution_id, action_id, instance_id, status, attempts, started_at)
    SELECT n.org_id, n.execution_id, n.action_id, n.instance_id, 'running', 1, n.created_at
    FROM unnest(p_org, p_execution, p_action, p_instance, p_created, outcomes)
        AS n(org_id, execution_id, action_id, instance_id, created_at, outcome)
    WHERE n.outcome = 'recorded' AND n.execution_id IS NOT NULL;

    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT n.org_id, e.event_type, n.action_id, n.agent_id, n.created_at, e.payload
    FROM unnest(p_org, p_action, p_agent, p_created, p_submitted, p_decided, p_started, outcomes)
             WITH ORDINALITY AS n(org_id, action_id, agent_id, created_at, submitted, decided, started, outcome, position),
         LATERAL (VALUES (1, 'action.submitted', n.submitted), (2, 'decision.made', n.decided),
                         (3, 'execution.started', n.started)) AS e(step, event_type, payload)
    WHERE n.outcome = 'recorded' AND e.payload IS NOT NULL
    ORDER BY n.position, e.step;
    RETURN array_to_string(outcomes, ',');
END $$;

-- How executions ended, appended, with their events; returns how many were taken. An execution ends once:
-- what was told already, by a retry after a lost answer or by the worker in its stead, is left out.
-- give_back: nothing was sent, so the approval that let it through may be used again (semantics.md, "Retry,
-- use, expiry"); null where none was used. withheld: the payload of an event that says that a policy about content
-- let the agent not see the answer; null where it saw it. Settings: as above.
CREATE FUNCTION record_outcomes(
    p_org text[], p_execution text[], p_action text[], p_agent text[], p_succeeded boolean[], p_completed timestamptz[],
    p_error text[], p_result text[], p_payload text[], p_give_back text[], p_withheld text[] DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    inserted_ids text[];
    taken text[];
    given record;
BEGIN
    WITH inserted AS (
        INSERT INTO execution_outcomes AS x (org_id, execution_id, action_id, succeeded, completed_at, error, result)
        SELECT t.org_id, t.execution_id, t.action_id, t.succeeded, t.completed_at, t.error, t.result
        FROM unnest(p_org, p_execution, p_action, p_succeeded, p_completed, p_error, p_result)
            AS t(org_id, execution_id, action_id, succeeded, completed_at, error, result)
        ON CONFLICT DO NOTHING
        RETURNING x.execution_id
    )
    SELECT coalesce(array_agg(i.execution_id), '{}') INTO inserted_ids FROM inserted i;

    -- Looked at after the insert, in a statement of its own: the insert waits for an outcome that is just being folded,
    -- and only who looks later sees that its execution has ended. Not "status = 'running'", for which the planner would
    -- read through everything that runs.
    SELECT coalesce(array_agg(t.execution_id), '{}') INTO taken
    FROM unnest(p_org, p_execution) AS t(org_id, execution_id)
    WHERE (cardinality(inserted_ids) = cardinality(p_execution) OR t.execution_id = ANY (inserted_ids))
      AND EXISTS (SELECT FROM executions e
                  WHERE e.org_id = t.org_id AND e.execution_id = t.execution_id AND e.completed_at IS NULL);
    IF cardinality(taken) < cardinality(inserted_ids) THEN
        DELETE FROM execution_outcomes o USING unnest(p_org, p_execution) AS t(org_id, execution_id)
        WHERE t.execution_id = ANY (inserted_ids) AND NOT t.execution_id = ANY (taken)
          AND o.org_id = t.org_id AND o.execution_id = t.execution_id;
    END IF;

    IF cardinality(array_remove(p_withheld, NULL)) > 0 THEN
        INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
        SELECT t.org_id, 'response.withheld', t.action_id, t.agent_id, t.completed_at, t.withheld
        FROM unnest(p_org, p_execution, p_action, p_agent, p_completed, p_withheld)
            AS t(org_id, execution_id, action_id, agent_id, completed_at, withheld)
        WHERE t.withheld IS NOT NULL AND t.execution_id = ANY (taken);
    END IF;

    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT t.org_id, CASE WHEN t.succeeded THEN 'execution.completed' ELSE 'execution.failed' END,
           t.action_id, t.agent_id, t.completed_at, t.payload
    FROM unnest(p_org, p_execution, p_action, p_agent, p_succeeded, p_completed, p_payload)
        AS t(org_id, execution_id, action_id, agent_id, succeeded, completed_at, payload)
    WHERE cardinality(taken) = cardinality(p_execution) OR t.execution_id = ANY (taken);

    IF cardinality(array_remove(p_give_back, NULL)) > 0 THEN
        UPDATE approvals a SET used_at = NULL, used_by = NULL
        FROM unnest(p_org, p_execution, p_give_back) AS t(org_id, execution_id, give_back)
        WHERE t.give_back IS NOT NULL AND a.org_id = t.org_id AND a.approval_id = t.give_back AND a.used_by = t.execution_id
          AND t.execution_id = ANY (taken);
        -- Those of grants and broken glasses: 0012_grants_and_break_glass.sql.
        FOR given IN SELECT t.org_id, t.execution_id, t.action_id, t.completed_at, t.give_back
                     FROM unnest(p_org, p_execution, p_action, p_completed, p_give_back)
                         AS t(org_id, execution_id, action_id, completed_at, give_back)
                     WHERE (t.give_back LIKE 'grt\_%' OR t.give_back LIKE 'brk\_%') AND t.execution_id = ANY (taken)
                     ORDER BY t.org_id, t.give_back LOOP
            PERFORM give_back_exemption(given.org_id, given.give_back, given.action_id, given.execution_id, given.completed_at);
        END LOOP;
    END IF;
    RETURN cardinality(taken);
END $$;

-- A require_approval decision: the action, its approval and their events. Approvals of one digest are opened
-- one at a time; p_previous is the newest one that the caller saw and judged (null: none).
-- outcome: held | stale | unknown | changed (a newer approval of this digest exists: look again)
--        | duplicate (the idempotency key is taken).
CREATE FUNCTION hold_action(
    p_org text, p_generation bigint, p_action text, p_agent text, p_key text, p_source text,
    p_tool text, p_operation text, p_digest bytea, p_request text, p_decision text, p_risk text, p_parent text,
    p_created timestamptz, p_idempotency text, p_request_digest bytea, p_submitted text, p_decided text, p_requested text,
    p_approval text, p_requirements text, p_required integer, p_reason text, p_policy text, p_expires timestamptz,
    p_previous text, p_superseded text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    newest approvals;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('headgate.hold ' || p_org || p_agent || encode(p_digest, 'hex'), 0));
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'active') THEN
        RETURN 'unknown';
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation) THEN
        RETURN 'stale';
    END IF;
    IF p_source = 'proxy' THEN
        SELECT * INTO newest FROM approvals a
        WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.digest = p_digest AND a.source = 'proxy'
        ORDER BY a.approval_id DESC LIMIT 1 FOR UPDATE;
        IF newest.approval_id IS DISTINCT FROM p_previous THEN
            RETURN 'changed';
        END IF;
        -- An approval that is still open gives way only where the policies now ask for more than it holds.
        IF newest.status = 'pending' THEN
            IF newest.expires_at > clock_timestamp() AND p_superseded IS NULL THEN
                RETURN 'changed';
            END IF;
            UPDATE approvals SET status = 'expired' WHERE org_id = p_org AND approval_id = newest.approval_id;
            INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
            VALUES (p_org, CASE WHEN p_superseded IS NULL THEN 'approval.expired' ELSE 'approval.superseded' END,
                    newest.action_id, p_agent, p_created,
                    coalesce(p_superseded, '{"actor":{"id":"headgate","type":"system"},"data":{"approval_id":"' || newest.approval_id || '"}}'));
            UPDATE actions SET status = 'denied', updated_at = p_created
            WHERE org_id = p_org AND action_id = newest.action_id AND status = 'pending_approval';
        END IF;
    END IF;
    IF p_idempotency IS NOT NULL THEN
        INSERT INTO idempotency_keys (org_id, agent_id, idempotency_key, request_digest, action_id)
        VALUES (p_org, p_agent, p_idempotency, p_request_digest, p_action) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN 'duplicate';
        END IF;
    END IF;
    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request,
                         decision, risk_level, approval_id, parent_action_id, created_at, updated_at)
    VALUES (p_org, p_action, p_agent, p_key, p_source, p_tool, p_operation, 'pending_approval', p_digest, p_request,
            p_decision, p_risk, p_approval, p_parent, p_created, p_created);
    INSERT INTO approvals (org_id, approval_id, action_id, agent_id, source, digest, status, requirements,
                           required_approvals, reason, risk_level, policy_id, repeats, created_at, expires_at)
    VALUES (p_org, p_approval, p_action, p_agent, p_source, p_digest, 'pending', p_requirements,
            p_required, p_reason, p_risk, p_policy, p_previous, p_created, p_expires);
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'action.submitted', p_action, p_agent, p_created, p_submitted),
           (p_org, 'decision.made', p_action, p_agent, p_created, p_decided),
           (p_org, 'approval.requested', p_action, p_agent, p_created, p_requested);
    RETURN 'held';
END $$;

-- The same call again while its approval is open: the same action, and one more event.
CREATE FUNCTION record_retry(p_org text, p_approval text, p_agent text, p_at timestamptz, p_payload text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT a.org_id, 'action.retried', a.action_id, a.agent_id, p_at, p_payload
    FROM approvals a WHERE a.org_id = p_org AND a.approval_id = p_approval AND a.agent_id = p_agent;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such approval for this agent: %', p_approval;
    END IF;
END $$;

-- Claims the one use of an approval, durable before the first byte is sent. The generation is that of the
-- policies which agreed a moment ago. outcome: used | stale | unusable (not approved, used, or past its time).
CREATE FUNCTION use_approval(
    p_org text, p_generation bigint, p_approval text, p_agent text, p_digest bytea, p_execution text, p_instance text,
    p_at timestamptz, p_redecided text, p_started text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    approval approvals;
BEGIN
    -- Locked first: a denial, another proxy's use and this one are decided one after the other.
    SELECT * INTO approval FROM approvals a
    WHERE a.org_id = p_org AND a.approval_id = p_approval AND a.agent_id = p_agent AND a.digest = p_digest FOR UPDATE;
    IF approval.status IS DISTINCT FROM 'approved' OR approval.used_at IS NOT NULL
       OR clock_timestamp() >= greatest(approval.expires_at, approval.decided_at + interval '15 minutes') THEN
        RETURN 'unusable';
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation)
       OR NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'active') THEN
        RETURN 'stale';
    END IF;
    UPDATE approvals SET used_at = clock_timestamp(), used_by = p_execution WHERE org_id = p_org AND approval_id = p_approval;
    INSERT INTO executions (org_id, execution_id, action_id, instance_id, status, attempts, started_at)
    VALUES (p_org, p_execution, approval.action_id, p_instance, 'running', 1, p_at);
    UPDATE actions SET status = 'executing', updated_at = p_at WHERE org_id = p_org AND action_id = approval.action_id;
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'decision.made', approval.action_id, p_agent, p_at, p_redecided),
           (p_org, 'execution.started', approval.action_id, p_agent, p_at, p_started);
    RETURN 'used';
END $$;

-- Calls with an identity that were refused before they were actions: one event a minute and cause.
CREATE FUNCTION record_refusals(p_org text[], p_agent text[], p_at timestamptz[], p_payload text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO audit_inbox (org_id, event_type, agent_id, created_at, payload)
    SELECT r.org_id, 'request.refused', r.agent_id, r.at, r.payload
    FROM unnest(p_org, p_agent, p_at, p_payload) AS r(org_id, agent_id, at, payload)
    WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = r.org_id AND a.agent_id = r.agent_id)
$$;

-- Moves outcomes into executions and actions; actions move by the transition table of headgate.actions.model.
-- An action of an approval that was given back waits for its next use. Row by row, by primary key: a join is planned
-- while the tables are small, and then reads through all of the organization's rows when they have grown.
CREATE FUNCTION fold_outcomes(p_org text, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ended execution_outcomes[];
    outcome execution_outcomes;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('headgate.fold ' || p_org, 0)) THEN
        RETURN 0;
    END IF;
    SELECT array_agg(o) INTO ended
    FROM (SELECT x FROM execution_outcomes x WHERE x.org_id = p_org ORDER BY x.execution_id LIMIT p_limit) AS t(o);
    IF ended IS NULL THEN
        RETURN 0;
    END IF;
    FOREACH outcome IN ARRAY ended LOOP
        DELETE FROM execution_outcomes o WHERE o.org_id = p_org AND o.execution_id = outcome.execution_id;
        UPDATE executions e SET status = CASE WHEN outcome.succeeded THEN 'succeeded' ELSE 'failed' END,
                                completed_at = outcome.completed_at, error = outcome.error, result = outcome.result
        WHERE e.org_id = p_org AND e.execution_id = outcome.execution_id AND e.completed_at IS NULL;
        UPDATE actions a SET updated_at = outcome.completed_at, status = CASE
            WHEN outcome.succeeded THEN 'completed'
            WHEN a.approval_id IS NULL THEN 'failed'
            WHEN EXISTS (SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = a.approval_id
                         AND p.status = 'approved' AND p.used_at IS NULL) THEN 'approved'
            ELSE 'failed' END
        WHERE a.org_id = p_org AND a.action_id = outcome.action_id AND a.status = 'executing'
          -- Given back and used again before this was folded: how the action ends, that use tells.
          AND (a.approval_id IS NULL
               OR NOT EXISTS (SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = a.approval_id
                              AND p.used_by <> outcome.execution_id));
    END LOOP;
    RETURN cardinality(ended);
END $$;

-- The same for every organization with outcomes, up to about p_limit in all; failure: why one could not be.
CREATE FUNCTION fold_due(p_limit integer) RETURNS TABLE (org_id text, folded integer, failure text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    remaining integer := p_limit;
BEGIN
    FOR org_id IN SELECT o.org_id FROM organizations o
                  WHERE EXISTS (SELECT FROM execution_outcomes x WHERE x.org_id = o.org_id) ORDER BY random() LOOP
        BEGIN
            folded := fold_outcomes(org_id, remaining);
            failure := NULL;
        EXCEPTION WHEN OTHERS THEN
            folded := 0;
            failure := SQLERRM;
        END;
        RETURN NEXT;
        remaining := remaining - folded;
        EXIT WHEN remaining <= 0;
    END LOOP;
END $$;

CREATE FUNCTION touch_keys(p_org text[], p_key text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE api_keys k SET last_used_at = clock_timestamp()
    FROM unnest(p_org, p_key) AS u(org_id, key_id) WHERE k.org_id = u.org_id AND k.key_id = u.key_id
$$;

-- The generations of the organizations that a process holds in memory, in one question.
CREATE FUNCTION generations(p_org text[]) RETURNS TABLE (org_id text, generation bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT s.org_id, s.generation FROM org_state s WHERE s.org_id = ANY (p_org)
$$;

-- Approvals decided lately, by this server's clock: the poll that wakes held requests where no message did.
CREATE FUNCTION approvals_decided_within(p_back interval) RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a WHERE a.decided_at >= clock_timestamp() - p_back
$$;

CREATE FUNCTION approvals_due() RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a
    WHERE a.status = 'pending' AND a.expires_at <= clock_timestamp() ORDER BY a.expires_at LIMIT 1000
$$;

CREATE FUNCTION beat_instance(p_instance text, p_kind text, p_oldest_in_flight timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO instances (instance_id, kind, oldest_in_flight_started_at) VALUES (p_instance, p_kind, p_oldest_in_flight)
    ON CONFLICT (instance_id) DO UPDATE
    SET heartbeat_at = clock_timestamp(), oldest_in_flight_started_at = excluded.oldest_in_flight_started_at
$$;

CREATE FUNCTION end_instance(p_instance text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM instances WHERE instance_id = p_instance
$$;

-- Executions whose process is gone (no row, or no heartbeat for p_dead_after) or no longer knows of them
-- (started before the oldest that it says it has in flight, with some grace for what is being recorded).
CREATE FUNCTION executions_orphaned_due(p_dead_after interval, p_grace interval)
RETURNS TABLE (org_id text, execution_id text, instance_id text, started_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT e.org_id, e.execution_id, e.instance_id, e.started_at
    FROM executions e LEFT JOIN instances i ON i.instance_id = e.instance_id
    WHERE e.status = 'running'
      AND (i.instance_id IS NULL
           OR i.heartbeat_at < clock_timestamp() - p_dead_after
           OR e.started_at < least(i.oldest_in_flight_started_at, i.heartbeat_at) - p_grace)
      AND e.started_at < clock_timestamp() - p_grace
      AND NOT EXISTS (SELECT FROM execution_outcomes o WHERE o.org_id = e.org_id AND o.execution_id = e.execution_id)
    LIMIT 1000
$$;

-- A policy that was running when a process died; it denies until a person looks. The event says which by its name, and
-- why: what whoever is told of it asks first. The payload is canonical JSON (RFC 8785): to_json writes a text as it does.
CREATE FUNCTION quarantine_policy(p_org text, p_policy text, p_version integer, p_reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    called text;
BEGIN
    UPDATE policies SET quarantine = p_reason
    WHERE org_id = p_org AND policy_id = p_policy AND version = p_version AND quarantine IS NULL
    RETURNING name INTO called;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE org_state SET generation = generation + 1 WHERE org_id = p_org;
    INSERT INTO audit_inbox (org_id, event_type, created_at, payload)
    VALUES (p_org, 'policy.quarantined', clock_timestamp(),
            '{"actor":{"id":"headgate","type":"system"},"data":{"name":' || to_json(called) || ',"policy_id":"' || p_policy
            || '","reason":' || to_json(p_reason) || ',"version":' || p_version || '}}');
    RETURN true;
END $$;

CALL hand_to_definer('record_actions', ARRAY['proxy', 'api']);
CALL hand_to_definer('record_outcomes', ARRAY['proxy', 'worker']);
CALL hand_to_definer('hold_action', ARRAY['proxy', 'api']);
CALL hand_to_definer('record_retry', ARRAY['proxy']);
CALL hand_to_definer('use_approval', ARRAY['proxy']);
CALL hand_to_definer('record_refusals', ARRAY['proxy']);
CALL hand_to_definer('fold_outcomes', ARRAY['api', 'worker']);
CALL hand_to_definer('fold_due', ARRAY['worker']);
CALL hand_to_definer('touch_keys', ARRAY['proxy', 'api']);
CALL hand_to_definer('generations', ARRAY['proxy', 'api', 'worker']);
CALL hand_to_definer('approvals_decided_within', ARRAY['proxy']);
CALL hand_to_definer('approvals_due', ARRAY['worker']);
CALL hand_to_definer('beat_instance', ARRAY['proxy', 'api', 'worker']);
CALL hand_to_definer('end_instance', ARRAY['proxy', 'api', 'worker']);
CALL hand_to_definer('executions_orphaned_due', ARRAY['worker']);
CALL hand_to_definer('quarantine_policy', ARRAY['proxy', 'api']);
