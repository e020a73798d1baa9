-- Returns organizations with checkpoints whose audit log names other signing keys.
CREATE OR REPLACE FUNCTION signing_keys_due(p_keys text[]) RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT t.org_id FROM audit_trees t
    WHERE t.signing_keys IS DISTINCT FROM p_keys
      AND EXISTS (SELECT FROM audit_checkpoints k WHERE k.org_id = t.org_id)
    ORDER BY t.signing_keys IS NULL, random()
    LIMIT 1000
$$;
CALL callable_by('signing_keys_due', ARRAY['worker']);
