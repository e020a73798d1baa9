-- Whether any process has had entries of the journal applied: then there are master keys, here or on another machine.
CREATE OR REPLACE FUNCTION has_writers() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM journal_writers)
$$;
CALL callable_by('has_writers', ARRAY['api', 'worker']);
