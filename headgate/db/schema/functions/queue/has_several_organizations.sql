-- Whether there are organizations that a share is to be kept for.
CREATE OR REPLACE FUNCTION has_several_organizations() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) > 1 FROM (SELECT FROM organizations LIMIT 2) AS found
$$;
CALL callable_by('has_several_organizations', ARRAY['worker']);
