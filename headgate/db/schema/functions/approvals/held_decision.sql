-- Returns the decision on the action of an approval, as it was when the approval was opened. A judge's verdict in it is valid
-- when the approval is used. The proxy cannot read actions otherwise.
CREATE OR REPLACE FUNCTION held_decision(p_org text, p_approval text, p_agent text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.decision FROM approvals p
    JOIN actions a ON a.org_id = p.org_id AND a.action_id = p.action_id
    WHERE p.org_id = p_org AND p.approval_id = p_approval AND p.agent_id = p_agent
$$;
CALL callable_by('held_decision', ARRAY['proxy', 'api', 'worker']);
