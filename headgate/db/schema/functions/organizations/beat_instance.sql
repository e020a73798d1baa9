-- Stores the heartbeat of a process.
CREATE OR REPLACE FUNCTION beat_instance(p_instance text, p_kind text, p_version text, p_oldest_in_flight timestamptz)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO instances (instance_id, kind, version, oldest_in_flight_started_at)
    VALUES (p_instance, p_kind, p_version, p_oldest_in_flight)
    ON CONFLICT (instance_id) DO UPDATE
    SET heartbeat_at = clock_timestamp(), oldest_in_flight_started_at = excluded.oldest_in_flight_started_at
$$;
CALL callable_by('beat_instance', ARRAY['proxy', 'api', 'worker']);
