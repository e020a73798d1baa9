-- Records requests of known agents that were refused before they became actions: one event per minute and cause. Returns how many.
CREATE OR REPLACE FUNCTION record_refusals(p_org text[], p_agent text[], p_at timestamptz[], p_payload text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH written AS (
        INSERT INTO journal (org_id, event_type, agent_id, created_at, payload)
        SELECT r.org_id, 'request.refused', r.agent_id, r.at, r.payload
        FROM unnest(p_org, p_agent, p_at, p_payload) AS r(org_id, agent_id, at, payload)
        WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = r.org_id AND a.agent_id = r.agent_id)
        RETURNING 1
    )
    SELECT count(*) FROM written
$$;
CALL callable_by('record_refusals', ARRAY['proxy']);
