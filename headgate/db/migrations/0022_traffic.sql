-- Intercepted traffic: what passed the gate, masked before it was written here, sealed under a key of each row.
-- Deleting a row's key erases it. Nothing of it is part of the record: the record names actions, this shows them.

CREATE TABLE traffic_exchanges (
    org_id         text COLLATE "C" NOT NULL,
    exchange_id    text COLLATE "C" NOT NULL,
    created_at     timestamptz NOT NULL CHECK (isfinite(created_at)),
    agent_id       text COLLATE "C" NOT NULL,
    action_id      text COLLATE "C",
    tool           text NOT NULL,
    operation      text NOT NULL,
    decision       text NOT NULL,
    level          text NOT NULL CHECK (level IN ('heads', 'bodies')),
    method         text NOT NULL,
    scheme         text NOT NULL,
    host           text NOT NULL,
    port           integer NOT NULL,
    target         text, -- path and query, masked; null: erased
    status         integer, -- null: no answer
    duration_ms    double precision,
    request_bytes  bigint NOT NULL,
    response_bytes bigint NOT NULL,
    masking        text NOT NULL, -- canonical JSON: what was masked, and where
    omitted        text NOT NULL, -- canonical JSON: what was not kept, and why
    error          text,
    key_id         text COLLATE "C", -- the master key that wrapped_key opens with
    wrapped_key    bytea, -- null: erased
    content        bytea STORAGE EXTERNAL, -- encrypted, so that it does not compress: that was done before
    erased_at      timestamptz,
    PRIMARY KEY (org_id, exchange_id, created_at),
    CHECK ((content IS NULL) = (wrapped_key IS NULL) AND (content IS NULL) = (erased_at IS NOT NULL))
) PARTITION BY RANGE (created_at);
CREATE INDEX traffic_by_agent ON traffic_exchanges (org_id, agent_id, exchange_id);
CREATE INDEX traffic_by_action ON traffic_exchanges (org_id, action_id) WHERE action_id IS NOT NULL;
CREATE INDEX traffic_by_host ON traffic_exchanges (org_id, host, exchange_id);
-- Catches what no month's partition takes.
CREATE TABLE traffic_exchanges_rest PARTITION OF traffic_exchanges DEFAULT;

-- What was to be captured and was not, told once: loss_id is the same each time that it is told.
CREATE TABLE traffic_losses (
    org_id    text COLLATE "C" NOT NULL,
    loss_id   text COLLATE "C" NOT NULL,
    cause     text NOT NULL,
    exchanges bigint NOT NULL CHECK (exchanges > 0),
    since     timestamptz NOT NULL,
    until     timestamptz NOT NULL,
    PRIMARY KEY (org_id, loss_id)
);
CREATE INDEX traffic_losses_by_time ON traffic_losses (org_id, until);

CALL isolate_organizations('traffic_exchanges');
CALL isolate_organizations('traffic_losses');

GRANT SELECT ON traffic_exchanges, traffic_losses TO headgate_api, headgate_worker;
-- Erasing one; the heads that say that it was there stay.
GRANT UPDATE (target, error, masking, key_id, wrapped_key, content, erased_at) ON traffic_exchanges TO headgate_api, headgate_worker;
-- Retention.
GRANT DELETE ON traffic_exchanges, traffic_losses TO headgate_worker;
GRANT SELECT, INSERT ON traffic_exchanges, traffic_losses TO headgate_definer;

-- Partitions for this month and the next; called by the migration and daily by the worker.
CREATE FUNCTION ensure_traffic_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    month timestamptz;
    name text;
BEGIN
    FOR step IN 0..1 LOOP
        month := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => step);
        name := 'traffic_exchanges_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
        IF to_regclass(name) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF traffic_exchanges FOR VALUES FROM (%L) TO (%L)',
                               name, month, month + interval '1 month');
            EXCEPTION
                WHEN duplicate_table THEN NULL; -- another worker was quicker
                WHEN check_violation THEN NULL; -- the month began without its partition: it stays in the rest
            END;
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION ensure_traffic_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_traffic_partitions() TO headgate_worker;
SELECT ensure_traffic_partitions();

-- Whether any organization still has something of that time.
CREATE FUNCTION traffic_is_kept(p_from timestamptz, p_until timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM traffic_exchanges WHERE created_at >= p_from AND created_at < p_until)
$$;
CALL hand_to_definer('traffic_is_kept', ARRAY['worker']);

-- Months that are over and of which every organization's captures have been dropped: their files go, and with them
-- what deleted rows leave behind. Returns how many.
CREATE FUNCTION drop_empty_traffic_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    name text;
    month timestamptz;
    dropped integer := 0;
BEGIN
    FOR name IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'traffic_exchanges'::regclass AND c.relname ~ '^traffic_exchanges_\d{4}_\d\d$' LOOP
        month := to_timestamp(right(name, 7) || ' UTC', 'YYYY_MM TZ');
        CONTINUE WHEN month + interval '1 month' > clock_timestamp() - interval '7 days';
        -- Locked first: nobody writes into it between the look and the drop.
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
        IF NOT traffic_is_kept(month, month + interval '1 month') THEN
            EXECUTE format('DROP TABLE %I', name);
            dropped := dropped + 1;
        END IF;
    END LOOP;
    RETURN dropped;
END $$;
REVOKE ALL ON FUNCTION drop_empty_traffic_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_empty_traffic_partitions() TO headgate_worker;

-- What was captured, in parallel arrays. What is there already, also as an erased row, is left as it is: a spool is read
-- again by whoever was killed over it. What belongs to no agent of its organization is not taken; of an action that was
-- erased meanwhile only the heads are, as of one that is erased later. Returns how many are there now.
CREATE FUNCTION record_exchanges(
    p_org text[], p_exchange text[], p_created timestamptz[], p_agent text[], p_action text[], p_tool text[],
    p_operation text[], p_decision text[], p_level text[], p_method text[], p_scheme text[], p_host text[], p_port integer[],
    p_target text[], p_status integer[], p_duration double precision[], p_request_bytes bigint[], p_response_bytes bigint[],
    p_masking text[], p_omitted text[], p_error text[], p_key text[], p_wrapped bytea[], p_content bytea[]
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    known integer;
    gone text[];
BEGIN
    -- Locked: an erasure that is under way is waited for, and one that begins now finds these rows.
    SELECT array_agg(a.action_id) FILTER (WHERE a.body_state = 'erased') INTO gone
    FROM (SELECT x.action_id, x.body_state FROM actions x
          WHERE (x.org_id, x.action_id) IN (SELECT e.org_id, e.action_id FROM unnest(p_org, p_action) AS e(org_id, action_id))
          ORDER BY x.org_id, x.action_id FOR SHARE) a;
    INSERT INTO traffic_exchanges (org_id, exchange_id, created_at, agent_id, action_id, tool, operation, decision, level,
                                   method, scheme, host, port, status, duration_ms, request_bytes, response_bytes,
                                   masking, omitted, target, error, key_id, wrapped_key, content, erased_at)
    SELECT e.org_id, e.exchange_id, e.created_at, e.agent_id, e.action_id, e.tool, e.operation, e.decision, e.level,
           e.method, e.scheme, e.host, e.port, e.status, e.duration_ms, e.request_bytes, e.response_bytes, e.masking, e.omitted,
           CASE WHEN g.gone THEN NULL ELSE e.target END, CASE WHEN g.gone THEN NULL ELSE e.error END,
           CASE WHEN g.gone THEN NULL ELSE e.key_id END, CASE WHEN g.gone THEN NULL ELSE e.wrapped_key END,
           CASE WHEN g.gone THEN NULL ELSE e.content END, CASE WHEN g.gone THEN clock_timestamp() END
    FROM unnest(p_org, p_exchange, p_created, p_agent, p_action, p_tool, p_operation, p_decision, p_level, p_method,
                p_scheme, p_host, p_port, p_target, p_status, p_duration, p_request_bytes, p_response_bytes, p_masking,
                p_omitted, p_error, p_key, p_wrapped, p_content)
        AS e(org_id, exchange_id, created_at, agent_id, action_id, tool, operation, decision, level, method, scheme, host,
             port, target, status, duration_ms, request_bytes, response_bytes, masking, omitted, error, key_id, wrapped_key,
             content)
         CROSS JOIN LATERAL (SELECT coalesce(e.action_id = ANY (gone), false) AS gone) g
    WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = e.org_id AND a.agent_id = e.agent_id)
    ON CONFLICT DO NOTHING;
    SELECT count(*) INTO known
    FROM unnest(p_org, p_agent) AS e(org_id, agent_id)
    WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = e.org_id AND a.agent_id = e.agent_id);
    RETURN known;
END $$;
CALL hand_to_definer('record_exchanges', ARRAY['proxy']);

CREATE FUNCTION record_traffic_losses(
    p_org text[], p_loss text[], p_cause text[], p_exchanges bigint[], p_since timestamptz[], p_until timestamptz[]
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO traffic_losses (org_id, loss_id, cause, exchanges, since, until)
    SELECT l.* FROM unnest(p_org, p_loss, p_cause, p_exchanges, p_since, p_until)
        AS l(org_id, loss_id, cause, exchanges, since, until)
    WHERE EXISTS (SELECT FROM organizations o WHERE o.org_id = l.org_id)
    ON CONFLICT DO NOTHING
$$;
CALL hand_to_definer('record_traffic_losses', ARRAY['proxy']);
