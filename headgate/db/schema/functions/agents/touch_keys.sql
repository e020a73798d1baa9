-- Sets the time of last use of these keys.
CREATE OR REPLACE FUNCTION touch_keys(p_org text[], p_key text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE api_keys k SET last_used_at = clock_timestamp()
    FROM unnest(p_org, p_key) AS u(org_id, key_id) WHERE k.org_id = u.org_id AND k.key_id = u.key_id
$$;
CALL callable_by('touch_keys', ARRAY['proxy', 'api']);
