-- Returns destinations of event streams that have events to send and may be tried now.
CREATE OR REPLACE FUNCTION event_streams_due() RETURNS TABLE (org_id text, destination text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
    SELECT s.org_id, s.destination FROM event_streams s
    WHERE s.retry_at <= clock_timestamp()
      AND EXISTS (SELECT FROM audit_chain c WHERE c.org_id = s.org_id AND c.seq > s.seq)
    ORDER BY random()
$$;
CALL callable_by('event_streams_due', ARRAY['worker']);
