-- Makes the monthly partition of bodies of actions at p_at.
RESET ROLE;
CREATE OR REPLACE FUNCTION ensure_body_partition(p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    month constant timestamptz := date_trunc('month', p_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
    name constant text := 'kept_bodies_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
BEGIN
    IF to_regclass(name) IS NULL AND month <= clock_timestamp() THEN
        BEGIN
            EXECUTE format('CREATE TABLE %I PARTITION OF kept_bodies FOR VALUES FROM (%L) TO (%L)',
                           name, month, (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
        EXCEPTION
            WHEN duplicate_table THEN NULL; -- another worker made it
            WHEN check_violation THEN NULL; -- rows of the month are in the default partition: they all stay there
        END;
    END IF;
END $$;
REVOKE ALL ON FUNCTION ensure_body_partition(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_body_partition(timestamptz) TO headgate_worker;
