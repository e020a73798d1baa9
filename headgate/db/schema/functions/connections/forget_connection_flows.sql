-- Deletes OAuth flows that ended before p_before, with their verifiers in the vault; returns how many.
CREATE OR REPLACE FUNCTION forget_connection_flows(p_before timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    forgotten integer;
BEGIN
    WITH old AS (DELETE FROM connection_flows f WHERE f.expires_at < p_before RETURNING f.org_id, f.state_hash),
         gone AS (DELETE FROM vault_secrets v USING old WHERE v.org_id = old.org_id AND v.name = 'oauth/' || old.state_hash)
    SELECT count(*) INTO forgotten FROM old;
    RETURN forgotten;
END $$;
CALL callable_by('forget_connection_flows', ARRAY['worker']);
