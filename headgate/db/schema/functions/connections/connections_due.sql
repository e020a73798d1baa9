-- Returns connections to refresh or to check, over all organizations.
CREATE OR REPLACE FUNCTION connections_due(p_at timestamptz, p_limit integer) RETURNS TABLE (org_id text, connection_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
    (SELECT c.org_id, c.connection_id FROM connections c
     WHERE c.deleted_at IS NULL AND c.refresh_at <= p_at AND (c.lease_until IS NULL OR c.lease_until <= p_at)
     ORDER BY c.refresh_at LIMIT p_limit)
    UNION
    (SELECT c.org_id, c.connection_id FROM connections c
     WHERE c.deleted_at IS NULL AND c.check_at <= p_at ORDER BY c.check_at LIMIT p_limit)
$$;
CALL callable_by('connections_due', ARRAY['worker']);
