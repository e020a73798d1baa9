-- The record. An event is durable in audit_inbox in the transaction of the state that it tells of; the sealer
-- moves it into the organization's hash chain in its own transaction. Chain rows are narrow and stay for
-- ever; salts and payloads live in monthly partitions and may be erased, the chain stays valid.

CREATE TABLE audit_inbox (
    org_id     text COLLATE "C" NOT NULL,
    inbox_id   bigint GENERATED ALWAYS AS IDENTITY,
    event_id   text COLLATE "C" NOT NULL DEFAULT 'evt_' || uuidv7(),
    event_type text NOT NULL CHECK (event_type ~ '^[a-z_]+[.][a-z_]+$'),
    -- What goes into a header is checked here, where it refuses its writer; in the sealer it would stop everybody.
    action_id  text COLLATE "C" CHECK (action_id ~ '^[A-Za-z0-9_-]+$'),
    agent_id   text COLLATE "C" CHECK (agent_id ~ '^[A-Za-z0-9_-]+$'),
    created_at timestamptz NOT NULL CHECK (isfinite(created_at)),
    payload    text NOT NULL, -- canonical JSON {actor, data}: the exact bytes that are hashed
    PRIMARY KEY (org_id, inbox_id)
-- Rows live for milliseconds: vacuum by their number, and without the lock that truncating the file takes.
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0,
        autovacuum_vacuum_insert_threshold = 20000, vacuum_truncate = false);

CREATE TABLE audit_chain (
    org_id    text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    header    text NOT NULL, -- canonical JSON: the exact bytes that are hashed
    hash      bytea NOT NULL CHECK (octet_length(hash) = 32),
    sealed_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, seq)
);
CREATE INDEX audit_chain_by_time ON audit_chain (org_id, sealed_at);

CREATE TABLE audit_events (
    org_id     text COLLATE "C" NOT NULL,
    seq        bigint NOT NULL,
    event_id   text COLLATE "C" NOT NULL,
    event_type text NOT NULL,
    action_id  text COLLATE "C",
    agent_id   text COLLATE "C",
    created_at timestamptz NOT NULL,
    sealed_at  timestamptz NOT NULL,
    salt       bytea, -- null with the payload: erased
    payload    text,
    CHECK ((salt IS NULL) = (payload IS NULL))
) PARTITION BY RANGE (sealed_at);
CREATE INDEX audit_events_by_seq ON audit_events (org_id, seq);
CREATE INDEX audit_events_by_id ON audit_events (org_id, event_id);
CREATE INDEX audit_events_by_action ON audit_events (org_id, action_id, seq);
-- Finds the rare types; the frequent ones are found by looking at any stretch, and would cost each request.
CREATE INDEX audit_events_by_type ON audit_events (org_id, event_type, seq)
    WHERE event_type NOT IN ('action.submitted', 'decision.made', 'execution.started', 'execution.completed');
-- Ranges of time: rows lie nearly in this order, so that block ranges serve, at no cost for the sealer.
CREATE INDEX audit_events_by_time ON audit_events USING brin (created_at);
-- Catches what no month's partition takes; a sealer must never stop for a missing one.
CREATE TABLE audit_events_rest PARTITION OF audit_events DEFAULT;

-- Partitions for this month and the next; called by the migration and daily by the worker.
CREATE FUNCTION ensure_audit_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    month timestamptz;
    name text;
BEGIN
    FOR step IN 0..1 LOOP
        month := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => step);
        name := 'audit_events_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
        IF to_regclass(name) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF audit_events FOR VALUES FROM (%L) TO (%L)',
                               name, month, month + interval '1 month');
            EXCEPTION
                WHEN duplicate_table THEN NULL; -- another worker was quicker
                WHEN check_violation THEN NULL; -- the month began without its partition: it stays in the rest
            END;
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION ensure_audit_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_audit_partitions() TO headgate_worker;

CALL isolate_organizations('audit_inbox');
CALL isolate_organizations('audit_chain');
CALL isolate_organizations('audit_events');
SELECT ensure_audit_partitions();

GRANT INSERT (org_id, event_type, action_id, agent_id, created_at, payload) ON audit_inbox TO headgate_api, headgate_worker;
GRANT SELECT ON audit_chain, audit_events TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, DELETE ON audit_inbox TO headgate_definer;
GRANT SELECT, INSERT ON audit_chain, audit_events TO headgate_definer;

-- Genesis: what the first event's prev_hash is, different for each organization.
CREATE FUNCTION audit_genesis(p_org text) RETURNS bytea
LANGUAGE sql IMMUTABLE
RETURN sha256(convert_to('headgate audit genesis v1 ' || p_org, 'UTF8'));

-- STABLE, as to_char depends on a setting: a function that says IMMUTABLE and calls it is not put in place by the planner,
-- and writing a time was a call in every row. It depends on none here: the form has no names of months or days.
CREATE FUNCTION rfc3339(p_time timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Seals up to p_limit events of one organization; returns how many. READ COMMITTED and the lock before the
-- head is read, or the chain forks (measured: 635 of 800 appends). All values of a header are ASCII without
-- quotes or backslashes (the inbox checks them), so that concatenation is canonical JSON. Only the link itself
-- is computed row by row: twice as fast as the whole header in the loop. The inbox is read once and joined with
-- nothing, and by its index: it is mostly rows that are gone, and nobody's statistics of it are ever true.
CREATE FUNCTION seal_audit_events(p_org text, p_limit integer, p_wait boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    lock_key constant bigint := hashtextextended('headgate.seal ' || p_org, 0);
    -- What the batch's salts are made of, and forgotten with it: a random read costs more than a hash.
    seed constant bytea := uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
    head_seq bigint;
    head_hash bytea;
    now_sealing timestamptz;
    inbox_ids bigint[];
    event_ids text[];
    event_types text[];
    action_ids text[];
    agent_ids text[];
    times timestamptz[];
    salts bytea[];
    payloads text[];
    -- A header is before || previous hash || between || seq || after.
    befores text[];
    afters text[];
    between text;
    headers text[];
    hashes bytea[];
    header text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'sealing needs READ COMMITTED: an older snapshot does not see the chain''s head';
    END IF;
    IF p_wait THEN
        PERFORM pg_advisory_xact_lock(lock_key);
    ELSIF NOT pg_try_advisory_xact_lock(lock_key) THEN
        RETURN 0;
    END IF;

    SELECT c.seq, c.hash, greatest(clock_timestamp(), c.sealed_at) INTO head_seq, head_hash, now_sealing
    FROM audit_chain c WHERE c.org_id = p_org ORDER BY c.seq DESC LIMIT 1;
    IF NOT FOUND THEN
        head_seq := 0;
        head_hash := audit_genesis(p_org);
        now_sealing := clock_timestamp();
    END IF;

    SELECT array_agg(i.inbox_id), array_agg(i.event_id), array_agg(i.event_type), array_agg(i.action_id),
           array_agg(i.agent_id), array_agg(i.created_at), array_agg(i.salt), array_agg(i.payload),
           array_agg('{"action":' || coalesce('"' || i.action_id || '"', 'null')
               || ',"agent":' || coalesce('"' || i.agent_id || '"', 'null')
               || ',"created_at":"' || rfc3339(i.created_at)
               || '","id":"' || i.event_id || '","org":"' || p_org
               || '","payload_digest":"sha256:' || encode(sha256(i.salt || convert_to(i.payload, 'UTF8')), 'hex')
               || '","prev_hash":"sha256:'),
           array_agg(',"type":"' || i.event_type || '","v":1}')
    INTO inbox_ids, event_ids, event_types, action_ids, agent_ids, times, salts, payloads, befores, afters
    FROM (SELECT x.*, substr(sha256(seed || int8send(x.inbox_id)), 1, 16) AS salt FROM audit_inbox x WHERE x.org_id = p_org
          ORDER BY x.inbox_id LIMIT p_limit) i;
    IF inbox_ids IS NULL THEN
        RETURN 0;
    END IF;

    between := '","sealed_at":"' || rfc3339(now_sealing) || '","seq":';
    FOR position IN 1 .. cardinality(inbox_ids) LOOP
        header := befores[position] || encode(head_hash, 'hex') || between || head_seq + position || afters[position];
        head_hash := sha256(convert_to(header, 'UTF8'));
        headers[position] := header;
        hashes[position] := head_hash;
    END LOOP;

    INSERT INTO audit_chain (org_id, seq, header, hash, sealed_at)
    SELECT p_org, head_seq + u.position, u.header, u.hash, now_sealing
    FROM unnest(headers, hashes) WITH ORDINALITY AS u(header, hash, position);
    INSERT INTO audit_events (org_id, seq, event_id, event_type, action_id, agent_id, created_at, sealed_at, salt, payload)
    SELECT p_org, head_seq + u.position, u.event_id, u.event_type, u.action_id, u.agent_id, u.created_at, now_sealing, u.salt, u.payload
    FROM unnest(event_ids, event_types, action_ids, agent_ids, times, salts, payloads)
        WITH ORDINALITY AS u(event_id, event_type, action_id, agent_id, created_at, salt, payload, position);
    DELETE FROM audit_inbox i WHERE i.org_id = p_org AND i.inbox_id = ANY (inbox_ids);
    RETURN cardinality(inbox_ids);
END $$;
CALL hand_to_definer('seal_audit_events', ARRAY['worker', 'api']);

-- Seals for every organization that has something to seal, up to about p_limit events in all, in any order, so that
-- a busy one does not keep the others waiting. failure: why one could not be sealed; the others are all the same.
-- A batch that cannot be sealed is tried again with ever fewer events, down to one: what stands before an event that
-- breaks the sealer, or payloads that are too large together, do not wait for it.
CREATE FUNCTION seal_due(p_limit integer) RETURNS TABLE (org_id text, sealed integer, failure text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    remaining integer := p_limit;
    at_once integer;
BEGIN
    FOR org_id IN SELECT o.org_id FROM organizations o
                  WHERE EXISTS (SELECT FROM audit_inbox i WHERE i.org_id = o.org_id) ORDER BY random() LOOP
        at_once := remaining;
        LOOP
            BEGIN
                sealed := seal_audit_events(org_id, at_once, false);
                failure := NULL;
                EXIT;
            EXCEPTION WHEN OTHERS THEN
                sealed := 0;
                failure := SQLERRM;
                EXIT WHEN at_once <= 1;
                at_once := greatest(at_once / 8, 1);
            END;
        END LOOP;
        RETURN NEXT;
        remaining := remaining - sealed;
        EXIT WHEN remaining <= 0;
    END LOOP;
END $$;
CALL hand_to_definer('seal_due', ARRAY['worker']);

-- The age of the oldest unsealed event and how many there are, for the metric of the chain's lag.
CREATE FUNCTION audit_inbox_lag(OUT events bigint, OUT oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0) FROM audit_inbox
$$;
CALL hand_to_definer('audit_inbox_lag', ARRAY['worker', 'api']);
