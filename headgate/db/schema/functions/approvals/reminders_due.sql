-- Returns approvals to remind of, over all organizations. Expired approvals are left to expiry.
CREATE OR REPLACE FUNCTION reminders_due() RETURNS TABLE (org_id text, approval_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.org_id, a.approval_id FROM approvals a
    WHERE a.status = 'pending' AND a.remind_at <= clock_timestamp() AND a.expires_at > clock_timestamp()
    ORDER BY a.remind_at LIMIT 1000
$$;
CALL callable_by('reminders_due', ARRAY['worker']);
