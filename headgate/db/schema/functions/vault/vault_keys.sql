-- Returns the master keys in use over all organizations: how much each encrypts, and one secret of the vault to try it with (none
-- if it encrypts bodies only).
CREATE OR REPLACE FUNCTION vault_keys() RETURNS TABLE (key_id text, secrets bigint, org_id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH used AS (
        SELECT v.key_id, v.org_id, v.name FROM vault_secrets v
        UNION ALL SELECT b.key_id, b.org_id, NULL FROM body_keys b
        UNION ALL SELECT t.key_id, t.org_id, NULL FROM traffic_exchanges t WHERE t.key_id IS NOT NULL
    )
    SELECT u.key_id, count(*), (array_agg(u.org_id ORDER BY u.org_id, u.name) FILTER (WHERE u.name IS NOT NULL))[1],
           (array_agg(u.name ORDER BY u.org_id, u.name) FILTER (WHERE u.name IS NOT NULL))[1]
    FROM used u GROUP BY u.key_id ORDER BY u.key_id
$$;
CALL callable_by('vault_keys', ARRAY['api']);
