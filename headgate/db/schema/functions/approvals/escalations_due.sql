-- Returns approvals to escalate, over all organizations. Expired approvals are left to expiry.
CREATE OR REPLACE FUNCTION escalations_due() RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a
    WHERE a.status = 'pending' AND a.escalated_at IS NULL AND a.escalate_at <= clock_timestamp()
      AND a.expires_at > clock_timestamp()
    ORDER BY a.escalate_at LIMIT 1000
$$;
CALL callable_by('escalations_due', ARRAY['worker']);
