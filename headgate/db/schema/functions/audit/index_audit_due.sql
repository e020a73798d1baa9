-- Indexes up to about p_blocks full blocks of all organizations, in random order. failure: why one organization failed.
CREATE OR REPLACE FUNCTION index_audit_due(p_blocks integer) RETURNS TABLE (org_id text, indexed integer, failure text)
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
CALL callable_by('index_audit_due', ARRAY['worker']);
