-- Returns open sessions, begun until p_until, of a subject of this issuer or from one of its sessions (p_sid). Across organizations:
-- a provider knows none.
CREATE OR REPLACE FUNCTION sessions_at_provider(p_issuer text, p_subject text, p_sid text, p_until timestamptz)
RETURNS TABLE (org_id text, user_id text, session_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT s.org_id, s.user_id, s.session_id
    FROM sessions s JOIN users u ON u.org_id = s.org_id AND u.user_id = s.user_id
    WHERE u.issuer = p_issuer AND s.ended_at IS NULL AND s.created_at <= p_until
      AND (p_subject IS NOT NULL OR p_sid IS NOT NULL)
      AND (p_subject IS NULL OR u.subject = p_subject)
      AND (p_sid IS NULL OR s.provider_sid = p_sid)
    ORDER BY s.org_id, s.user_id, s.session_id
$$;
CALL callable_by('sessions_at_provider', ARRAY['api']);
