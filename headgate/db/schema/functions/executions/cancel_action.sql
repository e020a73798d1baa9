-- Cancels an action that has not begun, by its agent: its approval, or its place in the queue. p_failed: payload of the event that
-- the execution failed. Returns: cancelled | wrong (the status tells why).
CREATE OR REPLACE FUNCTION cancel_action(
    p_org text, p_action text, p_agent text, p_at timestamptz, p_error text, p_payload text, p_failed text, p_give_back text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    action actions;
    kept execution_calls;
    open_approval approvals;
BEGIN
    -- Locks an open approval first, as a vote does: of a vote and a cancellation the second sees the first.
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
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'action.cancelled', p_action, p_agent, p_at, p_payload);
    RETURN 'cancelled';
END $$;
CALL callable_by('cancel_action', ARRAY['api']);
