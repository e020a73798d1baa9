-- Whether any organization has a checkpoint: then a missing key is a loss, and none is made in its place.
CREATE OR REPLACE FUNCTION has_checkpoints() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM audit_checkpoints)
$$;
CALL callable_by('has_checkpoints', ARRAY['worker']);
