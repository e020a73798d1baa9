-- Returns whether an action cannot change any more: it has ended, or its approval cannot be used.
CREATE OR REPLACE FUNCTION at_rest(p_org text, p_action text, p_status text, p_approval text) RETURNS boolean
LANGUAGE sql STABLE
RETURN (p_status IN ('allowed', 'denied', 'completed', 'failed')
        OR (p_status = 'approved' AND EXISTS (
                SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = p_approval
                AND clock_timestamp() >= approval_use_ends(p.expires_at, p.decided_at))))
   AND NOT EXISTS (SELECT FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action
                   AND c.state IN ('queued', 'running'));
