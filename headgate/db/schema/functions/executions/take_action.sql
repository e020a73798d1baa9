-- Claims the one use of the approval of an action that its agent carries out, before it does so. p_generation: of the policies that
-- just decided again; p_digest: of what is carried out. Returns:
--   taken
--   stale     the state moved, or the agent is not active
--   ours      Headgate executes it
--   unusable  not approved, of another digest, already used, or its time is over
CREATE OR REPLACE FUNCTION take_action(
    p_org text, p_generation bigint, p_action text, p_agent text, p_digest bytea, p_execution text, p_at timestamptz,
    p_redecided text, p_started text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    action actions;
    approval approvals;
BEGIN
    -- The approval is locked first, as a vote and an outcome do: of two uses the second sees the first.
    SELECT p.* INTO approval FROM actions a JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id
    WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent FOR UPDATE OF p;
    SELECT * INTO action FROM actions a WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent FOR UPDATE;
    IF action.source IS DISTINCT FROM 'api'
       OR EXISTS (SELECT FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action) THEN
        RETURN 'ours';
    END IF;
    IF action.status IS DISTINCT FROM 'approved' OR approval.status IS DISTINCT FROM 'approved' OR approval.used_at IS NOT NULL
       OR coalesce(approval.edited_digest, approval.digest) IS DISTINCT FROM p_digest
       OR clock_timestamp() >= approval_use_ends(approval.expires_at, approval.decided_at) THEN
        RETURN 'unusable';
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation)
       OR NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'active') THEN
        RETURN 'stale';
    END IF;
    UPDATE approvals p SET used_at = clock_timestamp(), used_by = p_execution
    WHERE p.org_id = p_org AND p.approval_id = approval.approval_id;
    -- Without an instance: the agent carries it out, and reports how it ended.
    INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at)
    VALUES (p_org, p_execution, p_action, 'running', 1, p_at);
    UPDATE actions a SET status = 'executing', updated_at = p_at WHERE a.org_id = p_org AND a.action_id = p_action;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'decision.made', p_action, p_agent, p_at, p_redecided),
           (p_org, 'execution.started', p_action, p_agent, p_at, p_started);
    RETURN 'taken';
END $$;
CALL callable_by('take_action', ARRAY['api']);
