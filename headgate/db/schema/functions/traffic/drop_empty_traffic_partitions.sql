-- Drops partitions of past months whose exchanges are all deleted, with the files; returns how many.
RESET ROLE;
CREATE OR REPLACE FUNCTION drop_empty_traffic_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    name text;
    month timestamptz;
    dropped integer := 0;
BEGIN
    FOR name IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'traffic_exchanges'::regclass AND c.relname ~ '^traffic_exchanges_\d{4}_\d\d$' LOOP
        month := to_timestamp(right(name, 7) || ' UTC', 'YYYY_MM TZ');
        CONTINUE WHEN month + interval '1 month' > clock_timestamp() - interval '7 days';
        -- Locked first: no row is written between the check and the drop.
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
        IF NOT traffic_is_kept(month, month + interval '1 month') THEN
            EXECUTE format('DROP TABLE %I', name);
            dropped := dropped + 1;
        END IF;
    END LOOP;
    RETURN dropped;
END $$;
REVOKE ALL ON FUNCTION drop_empty_traffic_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_empty_traffic_partitions() TO headgate_worker;
