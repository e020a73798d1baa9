-- Returns the number of open approvals of all organizations, for the metric.
CREATE OR REPLACE FUNCTION approvals_open() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM approvals a WHERE a.status = 'pending' AND a.expires_at > clock_timestamp()
$$;
CALL callable_by('approvals_open', ARRAY['api', 'worker']);
