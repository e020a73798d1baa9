-- Returns organizations with full blocks that are not indexed, in random order: the first of these blocks, and how many there are.
CREATE OR REPLACE FUNCTION audit_blocks_due() RETURNS TABLE (org_id text, first_block bigint, blocks bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
    SELECT o.org_id, coalesce(done.blocks, 0), head.seq / 1024 - coalesce(done.blocks, 0) FROM organizations o
    CROSS JOIN LATERAL (SELECT c.seq FROM audit_chain c WHERE c.org_id = o.org_id ORDER BY c.seq DESC LIMIT 1) head
    LEFT JOIN LATERAL (SELECT b.block + 1 AS blocks FROM audit_blocks b WHERE b.org_id = o.org_id
                       ORDER BY b.block DESC LIMIT 1) done ON true
    WHERE head.seq / 1024 > coalesce(done.blocks, 0) ORDER BY random()
$$;
CALL callable_by('audit_blocks_due', ARRAY['worker']);
