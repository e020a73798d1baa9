-- Quarantines a policy that was running when a process died: it denies until a person releases it. The event has its name and the
-- reason, for notifications. Returns the event's time and payload; nothing if the policy is another one now, or is quarantined. The
-- payload is canonical JSON (RFC 8785): to_json writes a string in the same way.
CREATE OR REPLACE FUNCTION quarantine_policy(p_org text, p_policy text, p_version integer, p_reason text)
RETURNS TABLE (at timestamptz, told text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    called text;
BEGIN
    UPDATE policies SET quarantine = p_reason
    WHERE org_id = p_org AND policy_id = p_policy AND version = p_version AND quarantine IS NULL
    RETURNING name INTO called;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE org_state SET generation = generation + 1 WHERE org_id = p_org;
    at := clock_timestamp();
    told := '{"actor":{"id":"headgate","type":"system"},"data":{"name":' || to_json(called) || ',"policy_id":"' || p_policy
            || '","reason":' || to_json(p_reason) || ',"version":' || p_version || '}}';
    INSERT INTO journal (org_id, event_type, created_at, payload) VALUES (p_org, 'policy.quarantined', at, told);
    RETURN NEXT;
END $$;
CALL callable_by('quarantine_policy', ARRAY['proxy', 'api', 'worker']);
