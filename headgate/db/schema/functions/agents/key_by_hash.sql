-- Returns the key with this hash, or no row. It returns the limits of the agent too, so that enforcing them costs no query, and
-- the deactivation, the roles and the issuer of the key's owner: one join instead of a copy that could go stale. owner_roles and
-- owner_issuer are null where no person answers for the key; an agent's key is its agent's.
CREATE OR REPLACE FUNCTION key_by_hash(p_hash bytea)
RETURNS TABLE (org_id text, key_id text, kind text, agent_id text, agent_name text, agent_status text, user_id text,
               scopes text[], expires_at timestamptz, revoked_at timestamptz, generation bigint,
               requests_per_minute integer, open_approvals integer, stopped_at timestamptz, owner_roles text[],
               owner_issuer text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT k.org_id, k.key_id, k.kind, k.agent_id, a.name, a.status, k.user_id, k.scopes, k.expires_at, k.revoked_at, s.generation,
           a.requests_per_minute, a.open_approvals, u.deactivated_at,
           CASE WHEN k.kind <> 'agent' AND k.user_id IS NOT NULL THEN coalesce(u.roles || u.granted_roles, '{}') END, u.issuer
    FROM api_keys k
    JOIN org_state s ON s.org_id = k.org_id
    LEFT JOIN agents a ON a.org_id = k.org_id AND a.agent_id = k.agent_id
    LEFT JOIN users u ON u.org_id = k.org_id AND u.user_id = k.user_id AND k.kind <> 'agent'
    WHERE k.key_hash = p_hash
$$;
CALL callable_by('key_by_hash', ARRAY['proxy', 'api']);
