-- Returns secrets that are not under the current master key, for rotation.
CREATE OR REPLACE FUNCTION vault_due(p_current text, p_after_org text, p_after_name text, p_limit integer)
RETURNS TABLE (org_id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT v.org_id, v.name FROM vault_secrets v
    WHERE v.key_id <> p_current AND (v.org_id, v.name) > (p_after_org, p_after_name)
    ORDER BY v.org_id, v.name LIMIT p_limit
$$;
CALL callable_by('vault_due', ARRAY['api']);
