-- Deletes kept calls that will not run: failed for p_after, or never approved. Over all organizations; returns how many.
CREATE OR REPLACE FUNCTION forget_calls(p_after interval, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    old execution_calls;
    count integer := 0;
BEGIN
    FOR old IN SELECT c.* FROM execution_calls c JOIN actions a ON a.org_id = c.org_id AND a.action_id = c.action_id
               WHERE c.state IN ('kept', 'failed') AND (a.status = 'denied' OR c.updated_at < clock_timestamp() - p_after)
                 AND a.status <> 'pending_approval' LIMIT p_limit FOR UPDATE OF c SKIP LOCKED LOOP
        DELETE FROM execution_calls c WHERE c.org_id = old.org_id AND c.action_id = old.action_id;
        DELETE FROM vault_secrets v WHERE v.org_id = old.org_id AND v.name = 'call/' || old.action_id;
        count := count + 1;
    END LOOP;
    RETURN count;
END $$;
CALL callable_by('forget_calls', ARRAY['worker']);
