-- Records the actions decided by requests in flight, with their events, in one transaction (group commit). Arrays are parallel,
-- one element per request. Returns one outcome per row, in the order of the rows, separated by commas:
--   recorded
--   stale      the generation has changed since the decision: reload and decide again
--   duplicate  the idempotency key is taken
--   unknown    the organization has no such active agent
-- The proxy has no INSERT on any table: it records through functions like this one. The settings give one plan for good, which
-- finds by index what is small today. Planning each call costs as much as writing.
CREATE OR REPLACE FUNCTION record_actions(
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

    -- Only explicit submissions may have idempotency keys.
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
CALL callable_by('record_actions', ARRAY['proxy', 'api']);
