-- Stores a challenge that is given out, and deletes expired ones.
CREATE OR REPLACE FUNCTION begin_passkey_challenge(p_hash bytea, p_purpose text, p_about text, p_user_handle bytea,
                                                   p_expires_at timestamptz)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM passkey_challenges WHERE expires_at <= clock_timestamp();
    INSERT INTO passkey_challenges (challenge_hash, purpose, about, user_handle, expires_at)
    VALUES (p_hash, p_purpose, p_about, p_user_handle, p_expires_at);
$$;
CALL callable_by('begin_passkey_challenge', ARRAY['api']);
