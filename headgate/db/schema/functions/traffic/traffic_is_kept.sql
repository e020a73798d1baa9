-- Returns whether any organization has exchanges of that time.
CREATE OR REPLACE FUNCTION traffic_is_kept(p_from timestamptz, p_until timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM traffic_exchanges WHERE created_at >= p_from AND created_at < p_until)
$$;
CALL callable_by('traffic_is_kept', ARRAY['worker']);
