-- Makes the partitions of this month and the next. The schema calls it once, and the worker daily.
RESET ROLE;
CREATE OR REPLACE FUNCTION ensure_traffic_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    month timestamptz;
    name text;
BEGIN
    FOR step IN 0..1 LOOP
        month := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => step);
        name := 'traffic_exchanges_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
        IF to_regclass(name) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF traffic_exchanges FOR VALUES FROM (%L) TO (%L)',
                               name, month, month + interval '1 month');
            EXCEPTION
                WHEN duplicate_table THEN NULL; -- another worker made it
                WHEN check_violation THEN NULL; -- the month began without its partition: its rows stay in the default one
            END;
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION ensure_traffic_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_traffic_partitions() TO headgate_worker;
