-- Adds one full block to the index: for each value of a facet a string of 1,024 bits, as headgate.audit.indexer made them. Returns
-- false if another worker has added it, or blocks before it are not indexed yet.
CREATE OR REPLACE FUNCTION index_audit_block(p_org text, p_block bigint, p_facet text[], p_value text[], p_events text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('headgate.index ' || p_org, 0))
       OR p_block <> coalesce((SELECT b.block + 1 FROM audit_blocks b WHERE b.org_id = p_org ORDER BY b.block DESC LIMIT 1), 0) THEN
        RETURN false;
    END IF;
    INSERT INTO audit_blocks (org_id, block, first_at, last_at)
    SELECT p_org, p_block, coalesce(min(e.created_at), '-infinity'), coalesce(max(e.created_at), 'infinity')
    FROM audit_events e WHERE e.org_id = p_org AND e.seq > 1024 * p_block AND e.seq <= 1024 * (p_block + 1);
    INSERT INTO audit_facets (org_id, facet, value, block, events)
    SELECT p_org, f.facet, f.value, p_block, f.events::bit(1024) FROM unnest(p_facet, p_value, p_events) AS f(facet, value, events);
    RETURN true;
END $$;
CALL callable_by('index_audit_block', ARRAY['worker']);
