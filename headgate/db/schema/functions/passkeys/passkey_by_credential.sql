-- Returns the passkey with this credential id, across organizations: the id names one or none.
CREATE OR REPLACE FUNCTION passkey_by_credential(p_credential_id bytea)
RETURNS TABLE (org_id text, passkey_id text, user_id text, credential_id bytea, credential bytea, user_handle bytea,
               sign_count bigint, name text, created_at timestamptz, last_used_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT p.org_id, p.passkey_id, p.user_id, p.credential_id, p.credential, p.user_handle, p.sign_count, p.name, p.created_at,
           p.last_used_at
    FROM passkeys p WHERE p.credential_id = p_credential_id
$$;
CALL callable_by('passkey_by_credential', ARRAY['api']);
