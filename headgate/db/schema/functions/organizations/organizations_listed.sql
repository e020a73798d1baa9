-- Returns a page of organizations, newest first. A late page is one range of the key, as the first is.
CREATE OR REPLACE FUNCTION organizations_listed(p_before text, p_limit integer)
RETURNS TABLE (org_id text, name text, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id, o.name, o.created_at FROM organizations o
    WHERE o.org_id < coalesce(p_before, '~') COLLATE "C" ORDER BY o.org_id DESC LIMIT p_limit
$$;
CALL callable_by('organizations_listed', ARRAY['api']);
