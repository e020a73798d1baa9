-- Returns the organizations of a person whose token names none: where an administrator made them a member.
CREATE OR REPLACE FUNCTION memberships(p_issuer text, p_subject text)
RETURNS TABLE (org_id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id, o.name FROM users u JOIN organizations o ON o.org_id = u.org_id
    WHERE u.issuer = p_issuer AND u.subject = p_subject AND u.granted_roles <> '{}' AND u.deactivated_at IS NULL
    ORDER BY o.name, o.org_id LIMIT 100
$$;
CALL callable_by('memberships', ARRAY['api']);
