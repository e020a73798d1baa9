-- Returns organizations whose chain has grown since their last checkpoint, by p_events or for p_every, and those whose chain is
-- shorter than their tree, which must be reported.
CREATE OR REPLACE FUNCTION checkpoints_due(p_every interval, p_events bigint) RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id FROM organizations o
    LEFT JOIN audit_trees t ON t.org_id = o.org_id
    LEFT JOIN LATERAL (SELECT c.seq FROM audit_chain c WHERE c.org_id = o.org_id ORDER BY c.seq DESC LIMIT 1) head ON true
    LEFT JOIN LATERAL (SELECT k.size, k.created_at FROM audit_checkpoints k WHERE k.org_id = o.org_id
                       ORDER BY k.size DESC LIMIT 1) k ON true
    WHERE coalesce(head.seq, 0) < coalesce(t.size, 0)
       OR (head.seq > coalesce(k.size, 0)
           AND (k.size IS NULL OR k.created_at <= clock_timestamp() - p_every OR head.seq - k.size >= p_events))
    ORDER BY k.created_at NULLS FIRST
    LIMIT 1000
$$;
CALL callable_by('checkpoints_due', ARRAY['worker']);
