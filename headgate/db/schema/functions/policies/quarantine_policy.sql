-- Quarantines a policy that was running when a process died: it denies until a person releases it. The event has its name and the
-- reason, for notifications. The payload is canonical JSON (RFC 8785): to_json writes a string in the same way.
CREATE OR REPLACE FUNCTION quarantine_policy(p_org text, p_policy text, p_version integer, p_reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    called text;
BEGIN
    UPDATE policies SET quarantine = p_reason
    WHERE org_id = p_org AND policy_id = p_policy AND version = p_version AND quarantine IS NULL
    RETURNING name INTO called;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE org_state SET generation = generation + 1 WHERE org_id = p_org;
    INSERT INTO journal (org_id, event_type, created_at, payload)
    VALUES (p_org, 'policy.quarantined', clock_timestamp(),
            '{"actor":{"id":"headgate","type":"system"},"data":{"name":' || to_json(called) || ',"policy_id":"' || p_policy
            || '","reason":' || to_json(p_reason) || ',"version":' || p_version || '}}');
    RETURN true;
END $$;
CALL callable_by('quarantine_policy', ARRAY['proxy', 'api', 'worker']);
