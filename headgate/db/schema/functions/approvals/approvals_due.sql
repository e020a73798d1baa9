-- Returns pending approvals whose time is over, over all organizations.
CREATE OR REPLACE FUNCTION approvals_due() RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a
    WHERE a.status = 'pending' AND a.expires_at <= clock_timestamp() ORDER BY a.expires_at LIMIT 1000
$$;
CALL callable_by('approvals_due', ARRAY['worker']);
