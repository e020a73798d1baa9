-- What agents sent and got, kept for as long as it is needed (docs/decisions/0022-what-is-kept-can-be-forgotten.md).
-- The chain stays; a body that is put away is encrypted under a key of its own, and forgotten with that key.

-- Where the bodies of an action are: in the rows that they came with, put away, dropped by policy, or erased.
ALTER TABLE actions ADD COLUMN body_state text NOT NULL DEFAULT 'clear'
    CHECK (body_state IN ('clear', 'kept', 'dropped', 'erased'));

-- One data key a body, under a master key that is not here. Small, so that it can be left out of backups that are kept
-- for long: without its rows a copy of kept_bodies says nothing.
CREATE TABLE body_keys (
    org_id      text COLLATE "C" NOT NULL,
    action_id   text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,31}(/[A-Za-z0-9_-]{1,64})?$'),
    key_id      text COLLATE "C" NOT NULL,
    wrapped_key bytea NOT NULL,
    PRIMARY KEY (org_id, action_id, kind)
);

CREATE TABLE kept_bodies (
    org_id     text COLLATE "C" NOT NULL,
    action_id  text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    made_at    timestamptz NOT NULL, -- when the action was: the month of its partition
    ciphertext bytea STORAGE EXTERNAL NOT NULL, -- ciphertexts do not compress
    PRIMARY KEY (org_id, action_id, kind, made_at)
) PARTITION BY RANGE (made_at);
CREATE TABLE kept_bodies_rest PARTITION OF kept_bodies DEFAULT;

-- How far a task of an organization has got, by actions' identifiers, which sort by time.
CREATE TABLE retention_progress (
    org_id    text COLLATE "C" NOT NULL,
    task      text COLLATE "C" NOT NULL CHECK (task ~ '^[a-z][a-z_]{0,31}$'),
    action_id text COLLATE "C" NOT NULL,
    looked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, task)
);
-- What was passed over, as it was not at rest or held, and is looked at again.
CREATE TABLE retention_waiting (
    org_id    text COLLATE "C" NOT NULL,
    task      text COLLATE "C" NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, task, action_id)
);

CREATE TABLE legal_holds (
    org_id      text COLLATE "C" NOT NULL,
    hold_id     text COLLATE "C" NOT NULL,
    scope       text NOT NULL CHECK (scope IN ('organization', 'agent', 'action')),
    target      text COLLATE "C", -- the agent's or the action's identifier
    reason      text NOT NULL,
    placed_by   text NOT NULL,
    placed_at   timestamptz NOT NULL,
    lifted_by   text,
    lifted_at   timestamptz,
    lift_reason text,
    PRIMARY KEY (org_id, hold_id),
    CHECK ((scope = 'organization') = (target IS NULL)),
    CHECK ((lifted_at IS NULL) = (lift_reason IS NULL) AND (lifted_at IS NULL) = (lifted_by IS NULL))
);
CREATE INDEX legal_holds_in_force ON legal_holds (org_id) WHERE lifted_at IS NULL;

CALL isolate_organizations('body_keys');
CALL isolate_organizations('kept_bodies');
CALL isolate_organizations('retention_progress');
CALL isolate_organizations('retention_waiting');
CALL isolate_organizations('legal_holds');
-- Whoever reads the record has no use for keys and ciphertexts.
REVOKE SELECT ON body_keys, kept_bodies FROM headgate_auditor;

GRANT SELECT ON body_keys, kept_bodies, legal_holds, retention_progress, retention_waiting TO headgate_api, headgate_worker;
GRANT INSERT, UPDATE, DELETE ON retention_progress, retention_waiting TO headgate_worker;
GRANT UPDATE (key_id, wrapped_key) ON body_keys TO headgate_worker;
GRANT INSERT ON legal_holds TO headgate_api;
GRANT UPDATE (lifted_by, lifted_at, lift_reason) ON legal_holds TO headgate_api;
GRANT SELECT, INSERT, DELETE ON body_keys, kept_bodies TO headgate_definer;
GRANT SELECT, INSERT ON retention_waiting TO headgate_definer;
GRANT SELECT ON legal_holds, settings, deliveries TO headgate_definer;
GRANT UPDATE (salt, payload) ON audit_events TO headgate_definer;
GRANT SELECT, UPDATE (reason, digest) ON approval_votes TO headgate_definer;
GRANT UPDATE (request_digest) ON idempotency_keys TO headgate_definer;
GRANT SELECT, UPDATE (reason, data) ON approval_steps TO headgate_definer;
GRANT UPDATE (result) ON execution_outcomes TO headgate_definer;
GRANT UPDATE (payload) ON deliveries TO headgate_definer;
GRANT SELECT, UPDATE (message, excerpt) ON delivery_attempts TO headgate_definer;

-- Placing a hold and forgetting exclude each other: whoever forgets holds this shared, and looks at the holds under it.
CREATE FUNCTION hold_lock(p_org text) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN hashtextextended('headgate.hold ' || p_org, 0);

-- Whether a hold in force covers this; runs with the rights of whoever asks.
CREATE FUNCTION under_hold(p_org text, p_action text, p_agent text) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM legal_holds h WHERE h.org_id = p_org AND h.lifted_at IS NULL
               AND (h.scope = 'organization' OR (h.scope = 'agent' AND h.target = p_agent)
                    OR (h.scope = 'action' AND h.target = p_action)));

-- Whether nothing is going to be done with an action any more: it has ended, or its approval cannot be used.
CREATE FUNCTION at_rest(p_org text, p_action text, p_status text, p_approval text) RETURNS boolean
LANGUAGE sql STABLE
RETURN (p_status IN ('allowed', 'denied', 'completed', 'failed')
        OR (p_status = 'approved' AND EXISTS (
                SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = p_approval
                AND clock_timestamp() >= greatest(p.expires_at, p.decided_at + interval '15 minutes'))))
   AND NOT EXISTS (SELECT FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action
                   AND c.state IN ('queued', 'running'));

-- What stands where a body was: objects as readers expect them, and why there is nothing in them.
CREATE FUNCTION body_stub(p_state text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN '{"body":"' || p_state || '","params":{}}';

-- The month's partition for bodies of this moment's actions.
CREATE FUNCTION ensure_body_partition(p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    month constant timestamptz := date_trunc('month', p_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
    name constant text := 'kept_bodies_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
BEGIN
    IF to_regclass(name) IS NULL AND month <= clock_timestamp() THEN
        BEGIN
            EXECUTE format('CREATE TABLE %I PARTITION OF kept_bodies FOR VALUES FROM (%L) TO (%L)',
                           name, month, (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
        EXCEPTION
            WHEN duplicate_table THEN NULL; -- another worker was quicker
            WHEN check_violation THEN NULL; -- some of that month are in the rest: they all stay there
        END;
    END IF;
END $$;
REVOKE ALL ON FUNCTION ensure_body_partition(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_body_partition(timestamptz) TO headgate_worker;

-- Months in which nothing is kept any more, the current one left alone; returns how many went. Whether a partition is
-- empty is asked of itself, under the lock: its parent shows its owner one organization's rows.
CREATE FUNCTION drop_empty_body_partitions() RETURNS integer
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

-- Puts bodies away that the caller has read under lock, in this transaction, and encrypted. Returns how many.
CREATE FUNCTION put_bodies_away(p_org text, p_action text[], p_key_id text[], p_wrapped bytea[], p_ciphertext bytea[])
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    away text[];
BEGIN
    WITH moved AS (
        UPDATE actions a SET request = body_stub('kept'), body_state = 'kept'
        WHERE a.org_id = p_org AND a.action_id = ANY (p_action) AND a.body_state = 'clear'
        RETURNING a.action_id, a.approval_id, a.created_at
    ), keyed AS (
        INSERT INTO body_keys (org_id, action_id, kind, key_id, wrapped_key)
        SELECT p_org, u.action_id, 'action', u.key_id, u.wrapped_key
        FROM unnest(p_action, p_key_id, p_wrapped) AS u(action_id, key_id, wrapped_key) JOIN moved USING (action_id)
    ), stored AS (
        INSERT INTO kept_bodies (org_id, action_id, kind, made_at, ciphertext)
        SELECT p_org, u.action_id, 'action', m.created_at, u.ciphertext
        FROM unnest(p_action, p_ciphertext) AS u(action_id, ciphertext) JOIN moved m USING (action_id)
    ), edited AS (
        UPDATE approvals p SET edited_request = body_stub('kept')
        FROM moved m WHERE p.org_id = p_org AND p.approval_id = m.approval_id AND p.edited_request IS NOT NULL
    )
    SELECT array_agg(m.action_id) INTO away FROM moved m;
    UPDATE executions e SET result = NULL WHERE e.org_id = p_org AND e.action_id = ANY (away) AND e.result IS NOT NULL;
    RETURN coalesce(cardinality(away), 0);
END $$;

-- Keeps one more body of an action: somebody else's kind of thing, encrypted by the caller. False: the action's bodies
-- have been dropped or erased, and this is not kept either.
CREATE FUNCTION keep_body(p_org text, p_action text, p_kind text, p_key_id text, p_wrapped bytea, p_ciphertext bytea)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    made timestamptz;
BEGIN
    SELECT a.created_at INTO made FROM actions a
    WHERE a.org_id = p_org AND a.action_id = p_action AND a.body_state IN ('clear', 'kept') FOR SHARE;
    IF made IS NULL THEN
        RETURN false;
    END IF;
    DELETE FROM kept_bodies b WHERE b.org_id = p_org AND b.action_id = p_action AND b.kind = p_kind;
    DELETE FROM body_keys k WHERE k.org_id = p_org AND k.action_id = p_action AND k.kind = p_kind;
    INSERT INTO body_keys (org_id, action_id, kind, key_id, wrapped_key) VALUES (p_org, p_action, p_kind, p_key_id, p_wrapped);
    INSERT INTO kept_bodies (org_id, action_id, kind, made_at, ciphertext) VALUES (p_org, p_action, p_kind, made, p_ciphertext);
    RETURN true;
END $$;

-- In place of what was put away before, encrypted anew by the caller together with what came since, from a retry or
-- from an agent's own report, which is read under lock in this transaction. False: the action's bodies have been forgotten meanwhile.
CREATE FUNCTION put_results_away(p_org text, p_action text, p_key_id text, p_wrapped bytea, p_ciphertext bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT keep_body(p_org, p_action, 'action', p_key_id, p_wrapped, p_ciphertext) THEN
        RETURN false;
    END IF;
    UPDATE executions e SET result = NULL WHERE e.org_id = p_org AND e.action_id = p_action AND e.result IS NOT NULL;
    RETURN true;
END $$;

-- Forgets the bodies of actions: keys, what they encrypt, and what still stands in rows. What is held, not at rest or
-- not there is left alone, whoever calls. p_state: dropped (by policy) | erased (by a person). p_everything: what the
-- record says of the action too, and the digests that a guess could be held against; the chain keeps its headers.
-- Returns the actions whose bodies were forgotten now.
CREATE FUNCTION forget_bodies(p_org text, p_action text[], p_state text, p_everything boolean) RETURNS text[]
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
            -- What is not sealed yet would keep its payload.
            AND NOT (p_everything AND EXISTS (SELECT FROM audit_inbox i WHERE i.org_id = p_org AND i.action_id = a.action_id))
          ORDER BY a.action_id FOR UPDATE) f;
    IF forgotten IS NULL THEN
        RETURN '{}';
    END IF;
    DELETE FROM body_keys k WHERE k.org_id = p_org AND k.action_id = ANY (forgotten);
    DELETE FROM kept_bodies b WHERE b.org_id = p_org AND b.action_id = ANY (forgotten);
    DELETE FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = ANY (forgotten);
    DELETE FROM vault_secrets v WHERE v.org_id = p_org AND v.name IN (SELECT 'call/' || f FROM unnest(forgotten) f);
    UPDATE executions e SET result = NULL WHERE e.org_id = p_org AND e.action_id = ANY (forgotten);
    UPDATE execution_outcomes o SET result = NULL WHERE o.org_id = p_org AND o.action_id = ANY (forgotten);
    UPDATE approvals p SET edited_request = body_stub(p_state)
    WHERE p.org_id = p_org AND p.approval_id = ANY (asked) AND p.edited_request IS NOT NULL;
    UPDATE actions a SET request = body_stub(p_state), body_state = p_state
    WHERE a.org_id = p_org AND a.action_id = ANY (forgotten);
    -- Messages that are still on their way keep theirs: what people have been promised is told.
    UPDATE deliveries d SET payload = '{}'
    WHERE d.org_id = p_org AND d.subject_id = ANY (forgotten || asked) AND d.status IN ('delivered', 'parked', 'cancelled');
    UPDATE delivery_attempts t SET message = NULL, excerpt = NULL FROM deliveries d
    WHERE d.org_id = p_org AND d.subject_id = ANY (forgotten || asked) AND d.status IN ('delivered', 'parked', 'cancelled')
      AND t.org_id = p_org AND t.delivery_id = d.delivery_id;
    IF p_everything THEN
        -- What says that it was erased, and why, stays.
        UPDATE audit_events e SET salt = NULL, payload = NULL
        WHERE e.org_id = p_org AND e.action_id = ANY (forgotten) AND e.event_type <> 'body.erased';
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

-- Organizations, for the daily look at what is due.
CREATE FUNCTION retention_due() RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id FROM organizations o ORDER BY o.org_id
$$;

CALL hand_to_definer('put_bodies_away', ARRAY['worker']);
CALL hand_to_definer('keep_body', ARRAY['worker', 'api']);
CALL hand_to_definer('put_results_away', ARRAY['worker']);
CALL hand_to_definer('forget_bodies', ARRAY['api', 'worker']);
CALL hand_to_definer('retention_due', ARRAY['worker']);

-- What would be sealed and could be read back by nobody: one such row would break every page that it is on.
ALTER TABLE audit_inbox ADD CHECK (created_at >= '0001-01-02 00:00Z' AND created_at < '9999-12-31 00:00Z');

-- Since when an organization is somebody else's record, imported to be looked at (headgate audit import).
ALTER TABLE organizations ADD COLUMN inspected_since timestamptz;

-- Makes this database one that only shows what was imported: it records nothing and changes nothing. Called once, by the
-- import; other databases have no such triggers, and pay nothing for them.
CREATE FUNCTION refuse_in_inspection() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- That somebody looked is an event elsewhere; here it would become part of another's record.
    IF TG_TABLE_NAME = 'audit_inbox' THEN
        IF NEW.event_type = 'user.created' OR NEW.event_type ~ '[.](exported|read|viewed|opened|searched|downloaded)$' THEN
            RETURN NULL;
        END IF;
    END IF;
    RAISE EXCEPTION 'this instance is for inspection only: it holds another one''s record, and changes nothing'
        USING ERRCODE = 'read_only_sql_transaction';
END $$;
CREATE PROCEDURE begin_inspection()
LANGUAGE plpgsql AS $$
DECLARE
    target text;
BEGIN
    CREATE TRIGGER inspection_only BEFORE INSERT ON audit_inbox FOR EACH ROW EXECUTE FUNCTION refuse_in_inspection();
    FOREACH target IN ARRAY ARRAY['organizations', 'agents', 'api_keys', 'actions', 'executions', 'approvals', 'policies',
                                  'settings', 'audit_chain', 'audit_events', 'vault_secrets'] LOOP
        EXECUTE format('CREATE TRIGGER inspection_only BEFORE INSERT OR UPDATE OR DELETE ON %I'
                       ' FOR EACH STATEMENT EXECUTE FUNCTION refuse_in_inspection()', target);
    END LOOP;
END $$;
REVOKE ALL ON PROCEDURE begin_inspection() FROM PUBLIC;
