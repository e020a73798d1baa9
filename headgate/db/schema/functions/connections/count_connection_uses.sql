-- Adds the uses that a process has counted since its last report. A rejected credential is checked soon.
CREATE OR REPLACE FUNCTION count_connection_uses(p_org text[], p_connection text[], p_agent text[], p_uses bigint[], p_rejected bigint[], p_at timestamptz)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO connection_uses AS u (org_id, connection_id, day, agent_id, uses, rejected, last_used_at)
    SELECT t.org_id, t.connection_id, (p_at AT TIME ZONE 'UTC')::date, t.agent_id, t.uses, t.rejected, p_at
    FROM unnest(p_org, p_connection, p_agent, p_uses, p_rejected) AS t(org_id, connection_id, agent_id, uses, rejected)
    WHERE EXISTS (SELECT FROM connections c WHERE c.org_id = t.org_id AND c.connection_id = t.connection_id)
    ORDER BY t.org_id, t.connection_id, t.agent_id
    ON CONFLICT (org_id, connection_id, day, agent_id) DO UPDATE
        SET uses = u.uses + excluded.uses, rejected = u.rejected + excluded.rejected,
            last_used_at = greatest(u.last_used_at, excluded.last_used_at);
    UPDATE connections c SET check_at = least(c.check_at, p_at)
    FROM unnest(p_org, p_connection, p_rejected) AS t(org_id, connection_id, rejected)
    WHERE c.org_id = t.org_id AND c.connection_id = t.connection_id AND t.rejected > 0 AND c.check_at IS NOT NULL;
$$;
CALL callable_by('count_connection_uses', ARRAY['proxy', 'worker']);
