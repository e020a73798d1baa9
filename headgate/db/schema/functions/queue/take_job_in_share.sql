-- Gives a worker its next job of a queue, as procrastinate_fetch_job_v2 does, and keeps places for other organizations: with
-- its next job an organization may hold three quarters of the places that the others leave, and one in any case. So one
-- whose destinations are slow cannot fill them all. Where there is one organization only, it has all places.
--   p_places   how many jobs of the queue this worker runs at once
--   p_served   a queue of one place has no shares: organizations by the time of their last job, oldest first. Those that are
--              not named come before them
-- held_back: an organization has its share, and may have jobs that wait for it.
-- It runs with the worker's own rights on the queue.
CREATE OR REPLACE FUNCTION take_job_in_share(p_queue text, p_worker bigint, p_places integer, p_served text[])
RETURNS TABLE (job queue.procrastinate_jobs, held_back boolean)
LANGUAGE plpgsql SET search_path = queue, pg_temp AS $$
DECLARE
    beyond text[] := '{}';
    found_id bigint;
BEGIN
    IF p_places > 1 AND public.has_several_organizations() THEN
        WITH running AS (
            SELECT coalesce(j.args->>'org_id', '') AS org_id, count(*) AS jobs, sum(count(*)) OVER () AS jobs_of_all
            FROM procrastinate_jobs j WHERE j.worker_id = p_worker AND j.status = 'doing' GROUP BY 1
        )
        SELECT coalesce(array_agg(r.org_id), '{}') INTO beyond
        FROM running r WHERE 4 * (r.jobs + 1) > 3 * (p_places - (r.jobs_of_all - r.jobs));
    END IF;
    -- Jobs of one lock run one after the other, in their order, as in procrastinate's own function.
    IF p_places > 1 THEN
        SELECT j.id INTO found_id FROM procrastinate_jobs j
        WHERE j.status = 'todo' AND j.queue_name = p_queue AND (j.scheduled_at IS NULL OR j.scheduled_at <= now())
          AND coalesce(j.args->>'org_id', '') <> ALL (beyond)
          AND NOT EXISTS (SELECT FROM procrastinate_jobs o WHERE j.lock IS NOT NULL AND o.lock = j.lock
                          AND (o.status = 'doing' OR o.status = 'todo' AND (o.priority > j.priority OR o.priority = j.priority AND o.id < j.id)))
        ORDER BY j.priority DESC, j.id LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
    ELSE
        SELECT j.id INTO found_id FROM procrastinate_jobs j
        WHERE j.status = 'todo' AND j.queue_name = p_queue AND (j.scheduled_at IS NULL OR j.scheduled_at <= now())
          AND NOT EXISTS (SELECT FROM procrastinate_jobs o WHERE j.lock IS NOT NULL AND o.lock = j.lock
                          AND (o.status = 'doing' OR o.status = 'todo' AND (o.priority > j.priority OR o.priority = j.priority AND o.id < j.id)))
        ORDER BY array_position(p_served, j.args->>'org_id') NULLS FIRST, j.priority DESC, j.id
        LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
    END IF;
    UPDATE procrastinate_jobs j SET status = 'doing', worker_id = p_worker WHERE j.id = found_id RETURNING j.* INTO job;
    held_back := cardinality(beyond) > 0;
    RETURN NEXT;
END $$;
CALL callable_by('take_job_in_share', ARRAY['worker']);
