-- Deletes the counts of writers that have written nothing for 30 days: a lane takes a new name each day. What they are missing is kept.
-- Deletes which events were applied more than a day ago: their writers attest them within 12 hours, or not at all.
CREATE OR REPLACE FUNCTION forget_writers() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM journal_writers w WHERE w.applied_at < clock_timestamp() - interval '30 days' AND w.missing = 0;
    DELETE FROM journal_applied a WHERE a.applied_at < clock_timestamp() - interval '1 day';
$$;
CALL callable_by('forget_writers', ARRAY['worker']);
