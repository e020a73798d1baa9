-- Indexes up to p_blocks full blocks of one organization, in order; returns how many. Tool, operation, decision and risk of an
-- action are written once, with its first event, and never change.
CREATE OR REPLACE FUNCTION index_audit_blocks(p_org text, p_blocks integer) RETURNS integer
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
CALL callable_by('index_audit_blocks', ARRAY[]::text[]);
