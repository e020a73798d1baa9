-- Records one action with its rows, not in the journal: the caller's transaction queues its execution, and the row must be there
-- when a worker claims it. Returns: recorded | stale | unknown | duplicate, as record_actions.
CREATE OR REPLACE FUNCTION record_action(
    p_org text, p_generation bigint, p_action text, p_agent text, p_key text, p_source text, p_tool text, p_operation text,
    p_status text, p_digest bytea, p_request text, p_decision text, p_risk text, p_parent text, p_created timestamptz,
    p_idempotency text, p_request_digest bytea, p_submitted text, p_decided text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'active') THEN
        RETURN 'unknown';
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation) THEN
        RETURN 'stale';
    END IF;
    IF p_idempotency IS NOT NULL THEN
        INSERT INTO idempotency_keys (org_id, agent_id, idempotency_key, request_digest, action_id)
        VALUES (p_org, p_agent, p_idempotency, p_request_digest, p_action) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN 'duplicate';
        END IF;
    END IF;
    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request,
                         decision, risk_level, parent_action_id, created_at, updated_at)
    VALUES (p_org, p_action, p_agent, p_key, p_source, p_tool, p_operation, p_status, p_digest, p_request,
            p_decision, p_risk, p_parent, p_created, p_created);
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'action.submitted', p_action, p_agent, p_created, p_submitted),
           (p_org, 'decision.made', p_action, p_agent, p_created, p_decided);
    RETURN 'recorded';
END $$;
CALL callable_by('record_action', ARRAY['api']);
