-- Returns whether any organization has a checkpoint. If so, a missing signing key was lost, and no new one replaces it.
CREATE OR REPLACE FUNCTION has_checkpoints() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM audit_checkpoints)
$$;
CALL callable_by('has_checkpoints', ARRAY['worker']);
