-- Deletes old receipts; returns how many. They are kept longer than a platform repeats a delivery and than a signature is fresh.
CREATE OR REPLACE FUNCTION forget_integration_receipts() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM integration_receipts WHERE received_at < clock_timestamp() - interval '90 days' RETURNING 1
    ) SELECT count(*) FROM gone
$$;
CALL callable_by('forget_integration_receipts', ARRAY['worker']);
