-- Finding events among very many of them, beside the sealer and never in its way.
--
-- A bitmap index over the record: the chain is cut into blocks of 1,024 numbers, and for every value of a facet that
-- occurs in a block there is one row with a bit for each of its events. A block is indexed once, when it is full;
-- rows are never changed. What is not indexed yet is read from the events themselves (headgate.audit.find), so that
-- an answer never depends on the indexer, only its time does.

CREATE TABLE audit_blocks (
    org_id   text COLLATE "C" NOT NULL,
    block    bigint NOT NULL CHECK (block >= 0), -- of the events 1024 * block + 1 to 1024 * (block + 1)
    first_at timestamptz NOT NULL,               -- the earliest and the latest created_at in it
    last_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, block)
);

CREATE TABLE audit_facets (
    org_id text COLLATE "C" NOT NULL,
    facet  text COLLATE "C" NOT NULL,
    value  text COLLATE "C" NOT NULL,
    block  bigint NOT NULL,
    events bit(1024) NOT NULL, -- the leftmost bit is the block's first event
    -- The masks of one value lie side by side in the index, and are scattered over the table.
    PRIMARY KEY (org_id, facet, value, block) INCLUDE (events)
-- Rows are only ever added: vacuum by their number, or the index is read with the table beside it.
) WITH (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
        autovacuum_analyze_scale_factor = 0.05);
-- A value belongs to its facet: without this a join is planned for a hundredth of the rows that it has.
CREATE STATISTICS audit_facets_values (mcv) ON facet, value FROM audit_facets;

CALL isolate_organizations('audit_blocks');
CALL isolate_organizations('audit_facets');
GRANT SELECT ON audit_blocks, audit_facets TO headgate_api, headgate_worker;
GRANT SELECT, INSERT ON audit_blocks, audit_facets TO headgate_definer;

-- The verdict of a stored decision: canonical JSON, in which nothing before this member has one of that name, and no
-- string can look like one. Not by a JSON operator: these refuse a NUL, which a reason may hold.
CREATE FUNCTION audit_verdict(p_decision text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN substring(p_decision FROM '"decision":"([a-z_]+)"');

-- Indexes up to p_blocks full blocks of one organization, in order; returns how many. An action's tool, operation,
-- decision and risk are written once, with its first event, and never changed.
CREATE FUNCTION index_audit_blocks(p_org text, p_blocks integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    size constant bigint := 1024;
    none constant bit(1024) := repeat('0', 1024)::bit(1024);
    head bigint;
    next bigint;
    done integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('headgate.index ' || p_org, 0)) THEN
        RETURN 0;
    END IF;
    SELECT c.seq INTO head FROM audit_chain c WHERE c.org_id = p_org ORDER BY c.seq DESC LIMIT 1;
    SELECT b.block + 1 INTO next FROM audit_blocks b WHERE b.org_id = p_org ORDER BY b.block DESC LIMIT 1;
    next := coalesce(next, 0);
    WHILE done < p_blocks AND size * (next + 1) <= coalesce(head, 0) LOOP
        INSERT INTO audit_blocks (org_id, block, first_at, last_at)
        SELECT p_org, next, coalesce(min(e.created_at), '-infinity'), coalesce(max(e.created_at), 'infinity')
        FROM audit_events e WHERE e.org_id = p_org AND e.seq > size * next AND e.seq <= size * (next + 1);
        INSERT INTO audit_facets (org_id, facet, value, block, events)
        SELECT p_org, f.facet, f.value, next, bit_or(set_bit(none, (e.seq - size * next - 1)::integer, 1))
        FROM audit_events e
        LEFT JOIN actions a ON a.org_id = p_org AND a.action_id = e.action_id
        CROSS JOIN LATERAL (VALUES ('event_type', e.event_type), ('agent_id', e.agent_id), ('tool', a.tool),
                                   ('operation', a.operation), ('decision', audit_verdict(a.decision)),
                                   ('risk_level', a.risk_level)) AS f(facet, value)
        WHERE e.org_id = p_org AND e.seq > size * next AND e.seq <= size * (next + 1) AND f.value IS NOT NULL
        GROUP BY f.facet, f.value;
        next := next + 1;
        done := done + 1;
    END LOOP;
    RETURN done;
END $$;
CALL hand_to_definer('index_audit_blocks', ARRAY[]::text[]);

-- For every organization with a full block that is not indexed, up to about p_blocks in all, in any order.
CREATE FUNCTION index_audit_due(p_blocks integer) RETURNS TABLE (org_id text, indexed integer, failure text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    remaining integer := p_blocks;
BEGIN
    FOR org_id IN
        SELECT o.org_id FROM organizations o
        CROSS JOIN LATERAL (SELECT c.seq FROM audit_chain c WHERE c.org_id = o.org_id ORDER BY c.seq DESC LIMIT 1) head
        LEFT JOIN LATERAL (SELECT b.block + 1 AS blocks FROM audit_blocks b WHERE b.org_id = o.org_id
                           ORDER BY b.block DESC LIMIT 1) done ON true
        WHERE head.seq / 1024 > coalesce(done.blocks, 0) ORDER BY random()
    LOOP
        BEGIN
            indexed := index_audit_blocks(org_id, remaining);
            failure := NULL;
        EXCEPTION WHEN OTHERS THEN
            indexed := 0;
            failure := SQLERRM;
        END;
        RETURN NEXT;
        remaining := remaining - indexed;
        EXIT WHEN remaining <= 0;
    END LOOP;
END $$;
CALL hand_to_definer('index_audit_due', ARRAY['worker']);

-- Where each destination of an organization's event stream stands (headgate.siem): what it has, and since when it
-- takes nothing. The setting ``siem`` says what the destinations are.
CREATE TABLE event_streams (
    org_id        text COLLATE "C" NOT NULL,
    destination   text COLLATE "C" NOT NULL,
    seq           bigint NOT NULL, -- the last event that it has taken
    sent_at       timestamptz,
    failing_since timestamptz,
    failure       text,
    failures      integer NOT NULL DEFAULT 0,
    retry_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    alarmed_at    timestamptz,
    PRIMARY KEY (org_id, destination)
);
CALL isolate_organizations('event_streams');
GRANT SELECT, INSERT, UPDATE, DELETE ON event_streams TO headgate_api;
GRANT SELECT, UPDATE ON event_streams TO headgate_worker;
GRANT SELECT ON event_streams TO headgate_definer;

-- Destinations that something waits for, and that may be tried now.
CREATE FUNCTION event_streams_due() RETURNS TABLE (org_id text, destination text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
    SELECT s.org_id, s.destination FROM event_streams s
    WHERE s.retry_at <= clock_timestamp()
      AND EXISTS (SELECT FROM audit_chain c WHERE c.org_id = s.org_id AND c.seq > s.seq)
    ORDER BY random()
$$;
CALL hand_to_definer('event_streams_due', ARRAY['worker']);
