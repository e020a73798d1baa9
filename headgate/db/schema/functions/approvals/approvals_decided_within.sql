-- Returns approvals decided within p_back, by the server's clock: the poll that wakes held requests if a message is lost.
CREATE OR REPLACE FUNCTION approvals_decided_within(p_back interval) RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a WHERE a.decided_at >= clock_timestamp() - p_back
$$;
CALL callable_by('approvals_decided_within', ARRAY['proxy']);
