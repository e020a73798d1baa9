-- How the action that an approval is about was decided when it was opened: what a judge said of it then holds when the
-- approval is used, by the proxy, which reads no actions otherwise, or by the worker.
CREATE OR REPLACE FUNCTION held_decision(p_org text, p_approval text, p_agent text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.decision FROM approvals p
    JOIN actions a ON a.org_id = p.org_id AND a.action_id = p.action_id
    WHERE p.org_id = p_org AND p.approval_id = p_approval AND p.agent_id = p_agent
$$;
CALL callable_by('held_decision', ARRAY['proxy', 'worker']);
