-- Stores a login in progress, and deletes expired ones.
CREATE OR REPLACE FUNCTION begin_login(p_state bytea, p_browser bytea, p_issuer text, p_nonce text, p_verifier text, p_return_to text,
                            p_org_id_wanted text, p_invitation bytea, p_expires_at timestamptz)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM login_attempts WHERE expires_at <= clock_timestamp();
    INSERT INTO login_attempts (state_hash, browser_hash, issuer, nonce, code_verifier, return_to, org_id_wanted, invitation,
                                expires_at)
    VALUES (p_state, p_browser, p_issuer, p_nonce, p_verifier, p_return_to, p_org_id_wanted, p_invitation, p_expires_at);
$$;
CALL callable_by('begin_login', ARRAY['api']);
