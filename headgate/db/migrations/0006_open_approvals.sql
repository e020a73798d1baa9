-- How many approvals wait for a person, over all organizations, for the metric: a count and nothing else.
CREATE FUNCTION approvals_open() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM approvals a WHERE a.status = 'pending' AND a.expires_at > clock_timestamp()
$$;
ALTER FUNCTION approvals_open() OWNER TO headgate_definer;
REVOKE ALL ON FUNCTION approvals_open() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION approvals_open() TO headgate_api, headgate_worker;
