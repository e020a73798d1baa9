-- Returns organizations with a checkpoint that the target does not have and that may be exported now.
CREATE OR REPLACE FUNCTION exports_due(p_target text) RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id FROM organizations o
    JOIN LATERAL (SELECT k.size FROM audit_checkpoints k WHERE k.org_id = o.org_id ORDER BY k.size DESC LIMIT 1) k ON true
    LEFT JOIN audit_exports x ON x.org_id = o.org_id AND x.target = p_target
    WHERE k.size > coalesce(x.size, 0) AND coalesce(x.retry_at, '-infinity') <= clock_timestamp()
    LIMIT 1000
$$;
CALL callable_by('exports_due', ARRAY['worker']);
