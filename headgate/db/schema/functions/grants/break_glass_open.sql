-- Returns the number of break-glass uses that wait for a review, over all organizations.
CREATE OR REPLACE FUNCTION break_glass_open() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM break_glass b WHERE b.reviewed_at IS NULL
$$;
CALL callable_by('break_glass_open', ARRAY['api', 'worker']);
