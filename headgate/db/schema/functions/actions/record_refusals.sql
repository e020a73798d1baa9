-- Records requests of known agents that were refused before they became actions: one event per minute and cause. Returns whose
-- were written, each as organization and agent.
CREATE OR REPLACE FUNCTION record_refusals(p_org text[], p_agent text[], p_at timestamptz[], p_payload text[]) RETURNS text[]
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH written AS (
        INSERT INTO journal (org_id, event_type, agent_id, created_at, payload)
        SELECT r.org_id, 'request.refused', r.agent_id, r.at, r.payload
        FROM unnest(p_org, p_agent, p_at, p_payload) AS r(org_id, agent_id, at, payload)
        WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = r.org_id AND a.agent_id = r.agent_id)
        RETURNING org_id, agent_id
    )
    SELECT coalesce(array_agg(DISTINCT w.org_id || ' ' || w.agent_id), '{}') FROM written w
$$;
CALL callable_by('record_refusals', ARRAY['proxy']);
