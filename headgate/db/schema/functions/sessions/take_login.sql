-- Deletes and returns a login in progress, so that it answers one callback.
CREATE OR REPLACE FUNCTION take_login(p_state bytea)
RETURNS TABLE (browser_hash bytea, issuer text, nonce text, code_verifier text, return_to text, org_id_wanted text,
               invitation bytea, expires_at timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM login_attempts l WHERE l.state_hash = p_state
    RETURNING l.browser_hash, l.issuer, l.nonce, l.code_verifier, l.return_to, l.org_id_wanted, l.invitation, l.expires_at
$$;
CALL callable_by('take_login', ARRAY['api']);
