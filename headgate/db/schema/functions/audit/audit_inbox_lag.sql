-- The age of the oldest unsealed event and how many there are, for the metric of the chain's lag.
CREATE OR REPLACE FUNCTION audit_inbox_lag(OUT events bigint, OUT oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0) FROM audit_inbox
$$;
CALL callable_by('audit_inbox_lag', ARRAY['worker', 'api']);
