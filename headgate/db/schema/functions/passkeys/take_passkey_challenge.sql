-- Deletes and returns a challenge, so that it is answered once.
CREATE OR REPLACE FUNCTION take_passkey_challenge(p_hash bytea)
RETURNS TABLE (purpose text, about text, user_handle bytea, expires_at timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM passkey_challenges c WHERE c.challenge_hash = p_hash
    RETURNING c.purpose, c.about, c.user_handle, c.expires_at
$$;
CALL callable_by('take_passkey_challenge', ARRAY['api']);
