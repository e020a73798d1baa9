-- Claims the one use of an approval, durable before the first byte is sent. p_generation: of the policies that just decided
-- again. Returns: used | stale | unusable (not approved, already used, its time is over, or a newer approval of the digest
-- exists: the newest decides).
CREATE OR REPLACE FUNCTION use_approval(
    p_org text, p_generation bigint, p_approval text, p_agent text, p_digest bytea, p_execution text, p_instance text,
    p_at timestamptz, p_redecided text, p_started text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    approval approvals;
BEGIN
    -- Locked first: a denial, another proxy's use and this one are serialized.
    SELECT * INTO approval FROM approvals a
    WHERE a.org_id = p_org AND a.approval_id = p_approval AND a.agent_id = p_agent AND a.digest = p_digest FOR UPDATE;
    IF approval.status IS DISTINCT FROM 'approved' OR approval.used_at IS NOT NULL
       OR clock_timestamp() >= approval_use_ends(approval.expires_at, approval.decided_at)
       OR EXISTS (SELECT FROM approvals a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.digest = p_digest
                  AND a.source = 'proxy' AND a.approval_id > p_approval) THEN
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
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'decision.made', approval.action_id, p_agent, p_at, p_redecided),
           (p_org, 'execution.started', approval.action_id, p_agent, p_at, p_started);
    RETURN 'used';
END $$;
CALL callable_by('use_approval', ARRAY['proxy']);
