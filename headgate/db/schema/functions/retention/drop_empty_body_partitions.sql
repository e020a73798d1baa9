-- Drops empty partitions of past months; returns how many. It reads the partition itself, under the lock: through the parent its
-- owner sees one organization.
RESET ROLE;
CREATE OR REPLACE FUNCTION drop_empty_body_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    name text;
    there boolean;
    dropped integer := 0;
BEGIN
    FOR name IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'kept_bodies'::regclass AND c.relname ~ '^kept_bodies_[0-9]{4}_[0-9]{2}$'
                  AND c.relname < 'kept_bodies_' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY_MM') LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO there;
        CONTINUE WHEN there;
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', name);
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO there;
        IF NOT there THEN
            EXECUTE format('DROP TABLE %I', name);
            dropped := dropped + 1;
        END IF;
    END LOOP;
    RETURN dropped;
END $$;
REVOKE ALL ON FUNCTION drop_empty_body_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_empty_body_partitions() TO headgate_worker;
