-- Returns the invitation with this hash of its secret, across organizations.
CREATE OR REPLACE FUNCTION invitation_by_hash(p_hash bytea)
RETURNS TABLE (org_id text, invitation_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT i.org_id, i.invitation_id FROM invitations i WHERE i.secret_hash = p_hash
$$;
CALL callable_by('invitation_by_hash', ARRAY['api']);
