-- Returns the session of a browser's cookie, across organizations as for keys: the hash of 256 random bits names one or none.
CREATE OR REPLACE FUNCTION session_by_hash(p_hash bytea)
RETURNS TABLE (org_id text, session_id text, user_id text, issuer text, subject text, email text, name text, roles text[],
               deactivated_at timestamptz, aal text, created_at timestamptz, last_seen_at timestamptz,
               expires_at timestamptz, ended_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT s.org_id, s.session_id, s.user_id, u.issuer, u.subject, u.email, u.name, u.roles || u.granted_roles, u.deactivated_at, s.aal,
           s.created_at, s.last_seen_at, s.expires_at, s.ended_at
    FROM sessions s JOIN users u ON u.org_id = s.org_id AND u.user_id = s.user_id
    WHERE s.token_hash = p_hash
$$;
CALL callable_by('session_by_hash', ARRAY['api']);
