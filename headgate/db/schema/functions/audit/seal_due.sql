-- Seals for every organization that has something to seal, up to about p_limit events in all, in any order, so that
-- a busy one does not keep the others waiting. failure: why one could not be sealed; the others are all the same.
-- A batch that cannot be sealed is tried again with ever fewer events, down to one: what stands before an event that
-- breaks the sealer, or payloads that are too large together, do not wait for it.
CREATE OR REPLACE FUNCTION seal_due(p_limit integer) RETURNS TABLE (org_id text, sealed integer, failure text)
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
CALL callable_by('seal_due', ARRAY['worker']);
