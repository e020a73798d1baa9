-- Erases the bodies of actions: keys, ciphertexts, and what is left in rows. Actions under a legal hold, not at rest or unknown are
-- left alone, whoever calls. Returns the actions whose bodies were erased now.
--   p_state       dropped (by policy) | erased (by a person)
--   p_everything  also the payloads of their events, and digests against which a guess could be compared; the chain keeps headers
CREATE OR REPLACE FUNCTION forget_bodies(p_org text, p_action text[], p_state text, p_everything boolean) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    forgotten text[];
    asked text[];
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hold_lock(p_org));
    SELECT array_agg(f.action_id), array_agg(f.approval_id) FILTER (WHERE f.approval_id IS NOT NULL)
    INTO forgotten, asked
    FROM (SELECT a.action_id, a.approval_id FROM actions a
          WHERE a.org_id = p_org AND a.action_id = ANY (p_action)
            AND (a.body_state IN ('clear', 'kept') OR (p_state = 'erased' AND a.body_state = 'dropped')
                 OR (p_everything AND EXISTS (SELECT FROM audit_events e WHERE e.org_id = p_org AND e.action_id = a.action_id
                                              AND e.payload IS NOT NULL AND e.event_type <> 'body.erased')))
            AND at_rest(p_org, a.action_id, a.status, a.approval_id) AND NOT under_hold(p_org, a.action_id, a.agent_id)
            -- An event that is not sealed would keep its payload.
            AND NOT (p_everything AND EXISTS (SELECT FROM journal i WHERE i.org_id = p_org AND i.action_id = a.action_id))
          ORDER BY a.action_id FOR UPDATE) f;
    IF forgotten IS NULL THEN
        RETURN '{}';
    END IF;
    DELETE FROM body_keys k WHERE k.org_id = p_org AND k.action_id = ANY (forgotten);
    DELETE FROM kept_bodies b WHERE b.org_id = p_org AND b.action_id = ANY (forgotten);
    DELETE FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = ANY (forgotten);
    DELETE FROM vault_secrets v WHERE v.org_id = p_org AND v.name IN (SELECT 'call/' || f FROM unnest(forgotten) f);
    UPDATE executions e SET result = NULL WHERE e.org_id = p_org AND e.action_id = ANY (forgotten);
    UPDATE approvals p SET edited_request = body_stub(p_state)
    WHERE p.org_id = p_org AND p.approval_id = ANY (asked) AND p.edited_request IS NOT NULL;
    UPDATE actions a SET request = body_stub(p_state), body_state = p_state
    WHERE a.org_id = p_org AND a.action_id = ANY (forgotten);
    -- Pending deliveries keep their payload and are sent.
    UPDATE deliveries d SET payload = '{}'
    WHERE d.org_id = p_org AND d.subject_id = ANY (forgotten || asked) AND d.status IN ('delivered', 'parked', 'cancelled');
    UPDATE delivery_attempts t SET message = NULL, excerpt = NULL FROM deliveries d
    WHERE d.org_id = p_org AND d.subject_id = ANY (forgotten || asked) AND d.status IN ('delivered', 'parked', 'cancelled')
      AND t.org_id = p_org AND t.delivery_id = d.delivery_id;
    IF p_everything THEN
        -- The event of the erasure and its reason stay.
        UPDATE audit_events e SET salt = NULL, payload = NULL
        WHERE e.org_id = p_org AND e.action_id = ANY (forgotten) AND e.event_type <> 'body.erased';
        DELETE FROM action_tags t WHERE t.org_id = p_org AND t.action_id = ANY (forgotten);
        UPDATE actions a SET digest = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
            decision = '{"decision":"' || (a.decision::json ->> 'decision') || '","evaluation_time_ms":0.0,"policy_id":null,'
                || '"policies":[],"reason":"erased","risk_level":"' || a.risk_level || '"}'
        WHERE a.org_id = p_org AND a.action_id = ANY (forgotten);
        UPDATE approvals p SET digest = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
            edited_digest = NULL, edited_decision = NULL, reason = 'erased', comment = NULL
        WHERE p.org_id = p_org AND p.approval_id = ANY (asked);
        UPDATE idempotency_keys k SET request_digest = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
        WHERE k.org_id = p_org AND k.action_id = ANY (forgotten);
        UPDATE approval_votes v SET reason = NULL, digest = NULL WHERE v.org_id = p_org AND v.approval_id = ANY (asked);
        UPDATE approval_steps s SET reason = NULL, data = '{}' WHERE s.org_id = p_org AND s.approval_id = ANY (asked);
        UPDATE executions e SET error = 'erased' WHERE e.org_id = p_org AND e.action_id = ANY (forgotten) AND e.error IS NOT NULL;
    END IF;
    RETURN forgotten;
END $$;
CALL callable_by('forget_bodies', ARRAY['api', 'worker']);
