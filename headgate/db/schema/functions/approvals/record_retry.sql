-- Records that the agent repeated a call whose approval is open: one event, no new action. p_held: how long the call waits.
CREATE OR REPLACE FUNCTION record_retry(
    p_org text, p_approval text, p_agent text, p_at timestamptz, p_payload text, p_held timestamptz
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT a.org_id, 'action.retried', a.action_id, a.agent_id, p_at, p_payload
    FROM approvals a WHERE a.org_id = p_org AND a.approval_id = p_approval AND a.agent_id = p_agent;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such approval for this agent: %', p_approval;
    END IF;
    UPDATE approvals SET held_until = p_held
    WHERE org_id = p_org AND approval_id = p_approval AND p_held > coalesce(held_until, '-infinity');
END $$;
CALL callable_by('record_retry', ARRAY['proxy']);
