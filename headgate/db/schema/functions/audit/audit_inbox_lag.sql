-- Returns the number of unsealed events and the age of the oldest, for the metric of the sealer's lag.
CREATE OR REPLACE FUNCTION audit_inbox_lag(OUT events bigint, OUT oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0) FROM audit_inbox
$$;
CALL callable_by('audit_inbox_lag', ARRAY['worker', 'api']);
