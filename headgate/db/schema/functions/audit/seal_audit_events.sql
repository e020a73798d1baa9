-- Seals up to p_limit events of one organization; returns how many. It needs READ COMMITTED and takes the lock before it reads
-- the head: otherwise the chain forks (measured: 635 of 800 appends). All values of a header are ASCII without quotes or
-- backslashes, which the inbox checks, so concatenation gives canonical JSON. Only the link is computed row by row: twice as fast
-- as the whole header in the loop. The inbox is read once, by its index, and joined with nothing: most of its rows are dead, and
-- its statistics are never right.
CREATE OR REPLACE FUNCTION seal_audit_events(p_org text, p_limit integer, p_wait boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    lock_key constant bigint := hashtextextended('headgate.seal ' || p_org, 0);
    -- The salts of the batch are derived from it, and it is never stored: a random read costs more than a hash.
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
CALL callable_by('seal_audit_events', ARRAY['worker', 'api']);
