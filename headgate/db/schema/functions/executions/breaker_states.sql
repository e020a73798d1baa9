-- Returns how many destinations of all organizations are in each state of the circuit breaker.
CREATE OR REPLACE FUNCTION breaker_states(p_breaker_failures integer) RETURNS TABLE (closed bigint, open bigint, half_open bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FILTER (WHERE d.failures < p_breaker_failures), count(*) FILTER (WHERE d.open_until > clock_timestamp()),
           count(*) FILTER (WHERE d.failures >= p_breaker_failures AND d.open_until <= clock_timestamp())
    FROM destinations d
$$;
CALL callable_by('breaker_states', ARRAY['api', 'worker']);
