-- Records how an action ended that its agent executed. p_execution: a new execution, or the running one of an action that the agent
-- has taken. Returns: reported | ended (it was taken) | ours (Headgate executes it) | wrong (its status does not allow it, or its approval is used or
-- over).
CREATE OR REPLACE FUNCTION report_outcome(
    p_org text, p_action text, p_agent text, p_execution text, p_at timestamptz, p_succeeded boolean, p_error text,
    p_result text, p_started text, p_payload text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    action actions;
    approval approvals;
    taken boolean := false;
BEGIN
    -- The approval is locked first, as a vote and take_action do.
    SELECT p.* INTO approval FROM actions a JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id
    WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent FOR UPDATE OF p;
    SELECT * INTO action FROM actions a WHERE a.org_id = p_org AND a.action_id = p_action AND a.agent_id = p_agent FOR UPDATE;
    IF action.source IS DISTINCT FROM 'api'
       OR EXISTS (SELECT FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action) THEN
        RETURN 'ours';
    END IF;
    IF action.status = 'executing' THEN
        UPDATE executions e SET status = CASE WHEN p_succeeded THEN 'succeeded' ELSE 'failed' END, completed_at = p_at,
            error = CASE WHEN action.body_state = 'erased' AND p_error IS NOT NULL THEN 'erased' ELSE p_error END,
            result = CASE WHEN action.body_state IN ('clear', 'kept') THEN p_result END
        WHERE e.org_id = p_org AND e.execution_id = p_execution AND e.action_id = p_action AND e.status = 'running'
          AND e.instance_id IS NULL;
        IF NOT FOUND THEN
            RETURN 'wrong';
        END IF;
        taken := true;
    ELSIF action.status NOT IN ('allowed', 'approved') THEN
        RETURN 'wrong';
    END IF;
    IF action.approval_id IS NOT NULL AND NOT taken THEN
        IF approval.status <> 'approved' OR approval.used_at IS NOT NULL THEN
            RETURN 'wrong';
        END IF;
        UPDATE approvals p SET used_at = clock_timestamp(), used_by = p_execution
        WHERE p.org_id = p_org AND p.approval_id = action.approval_id;
    END IF;
    -- No result is stored for an action whose bodies were dropped or erased.
    INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at, completed_at, error, result)
    SELECT p_org, p_execution, p_action, CASE WHEN p_succeeded THEN 'succeeded' ELSE 'failed' END, 1, p_at, p_at,
           CASE WHEN action.body_state = 'erased' AND p_error IS NOT NULL THEN 'erased' ELSE p_error END,
           CASE WHEN action.body_state IN ('clear', 'kept') THEN p_result END
    WHERE NOT taken;
    UPDATE actions a SET status = CASE WHEN p_succeeded THEN 'completed' ELSE 'failed' END, updated_at = p_at
    WHERE a.org_id = p_org AND a.action_id = p_action;
    IF action.body_state = 'kept' AND p_result IS NOT NULL THEN
        INSERT INTO retention_waiting (org_id, task, action_id) VALUES (p_org, 'encrypt', p_action) ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT p_org, 'execution.started', p_action, p_agent, p_at, p_started WHERE NOT taken;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, CASE WHEN p_succeeded THEN 'execution.completed' ELSE 'execution.failed' END, p_action, p_agent, p_at, p_payload);
    RETURN CASE WHEN taken THEN 'ended' ELSE 'reported' END;
END $$;
CALL callable_by('report_outcome', ARRAY['api']);
