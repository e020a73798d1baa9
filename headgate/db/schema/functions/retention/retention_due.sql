-- Returns all organizations, for the daily task.
CREATE OR REPLACE FUNCTION retention_due() RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id FROM organizations o ORDER BY o.org_id
$$;
CALL callable_by('retention_due', ARRAY['worker']);
