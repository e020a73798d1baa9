-- Deletes the counts of writers that have written nothing for 30 days: a lane takes a new name each day. What they are missing is kept.
CREATE OR REPLACE FUNCTION forget_writers() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM journal_writers w WHERE w.applied_at < clock_timestamp() - interval '30 days' AND w.missing = 0
$$;
CALL callable_by('forget_writers', ARRAY['worker']);
