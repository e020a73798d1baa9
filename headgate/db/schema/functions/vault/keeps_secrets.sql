-- Returns whether an organization has anything encrypted by a master key: then a missing key file was lost.
CREATE OR REPLACE FUNCTION keeps_secrets(p_org text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM vault_secrets v WHERE v.org_id = p_org) OR EXISTS (SELECT FROM body_keys b WHERE b.org_id = p_org)
        OR EXISTS (SELECT FROM traffic_exchanges t WHERE t.org_id = p_org AND t.key_id IS NOT NULL)
$$;
CALL callable_by('keeps_secrets', ARRAY['api', 'worker']);
