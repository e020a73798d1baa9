-- Returns the number of rows in the journal, the age of the oldest, and the numbers of entries that were set aside and that are
-- missing, for metrics.
CREATE OR REPLACE FUNCTION journal_lag(OUT rows bigint, OUT oldest_seconds double precision, OUT set_aside bigint, OUT missing bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0),
           (SELECT count(*) FROM journal_set_aside),
           (SELECT coalesce(sum(w.missing), 0)::bigint FROM journal_writers w WHERE w.missing > 0)
    FROM journal
$$;
CALL callable_by('journal_lag', ARRAY['worker', 'api']);
