-- Adds what shadow policies decided on recorded calls, as counted by a process. Events of an unknown agent are left out. Returns whose
-- were written, each as organization and agent. The action may still be in the journal.
CREATE OR REPLACE FUNCTION record_shadow(
    p_org text[], p_policy text[], p_version integer[], p_said text[], p_decided text[], p_would text[],
    p_calls bigint[], p_at timestamptz[],
    p_event_org text[], p_event_action text[], p_event_agent text[], p_event_at timestamptz[], p_event_payload text[]
) RETURNS text[]
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO shadow_counts AS c (org_id, policy_id, version, said, decided, would, calls, first_at, last_at)
    SELECT s.org_id, s.policy_id, s.version, s.said, s.decided, s.would, s.calls, s.at, s.at
    FROM unnest(p_org, p_policy, p_version, p_said, p_decided, p_would, p_calls, p_at)
         AS s(org_id, policy_id, version, said, decided, would, calls, at)
    WHERE EXISTS (SELECT FROM policies p WHERE p.org_id = s.org_id AND p.policy_id = s.policy_id)
    ORDER BY s.org_id, s.policy_id, s.version, s.said, s.decided, s.would
    ON CONFLICT (org_id, policy_id, version, said, decided, would) DO UPDATE
    SET calls = c.calls + excluded.calls, last_at = greatest(c.last_at, excluded.last_at);
    WITH written AS (
        INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
        SELECT e.org_id, 'decision.shadowed', e.action_id, e.agent_id, e.at, e.payload
        FROM unnest(p_event_org, p_event_action, p_event_agent, p_event_at, p_event_payload)
             AS e(org_id, action_id, agent_id, at, payload)
        WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = e.org_id AND a.agent_id = e.agent_id)
        RETURNING org_id, agent_id
    )
    SELECT coalesce(array_agg(DISTINCT w.org_id || ' ' || w.agent_id), '{}') FROM written w
$$;
CALL callable_by('record_shadow', ARRAY['proxy', 'api']);
