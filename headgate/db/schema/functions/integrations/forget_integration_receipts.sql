-- Longer than any platform goes on sending the same delivery, and than any signature is fresh.
CREATE OR REPLACE FUNCTION forget_integration_receipts() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM integration_receipts WHERE received_at < clock_timestamp() - interval '90 days' RETURNING 1
    ) SELECT count(*) FROM gone
$$;
CALL callable_by('forget_integration_receipts', ARRAY['worker']);
