-- Stores the assignees of a new approval, and when the worker escalates it or reminds of it, in the transaction that opens it.
-- It does so once, while the approval is pending: it does not undo what people have changed since.
CREATE OR REPLACE FUNCTION attend_approval(
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
CALL callable_by('attend_approval', ARRAY['proxy', 'api']);
