-- Returns for each queue, over all organizations: jobs that may run now and the age of the oldest, running jobs, and dead ones.
CREATE OR REPLACE FUNCTION job_queues() RETURNS TABLE (queue_name text, waiting bigint, oldest_seconds double precision, running bigint, dead bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = queue, pg_temp AS $$
    SELECT j.queue_name, count(*) FILTER (WHERE j.status = 'todo' AND coalesce(j.scheduled_at <= now(), true)),
           extract(epoch FROM now() - min(coalesce(j.scheduled_at, e.at)) FILTER (WHERE j.status = 'todo' AND coalesce(j.scheduled_at <= now(), true))),
           count(*) FILTER (WHERE j.status = 'doing'), count(*) FILTER (WHERE j.status = 'failed')
    FROM procrastinate_jobs j
    LEFT JOIN LATERAL (SELECT min(x.at) AS at FROM procrastinate_events x WHERE x.job_id = j.id AND x.type = 'deferred') e ON j.status = 'todo'
    GROUP BY j.queue_name
$$;
CALL callable_by('job_queues', ARRAY['api', 'worker']);
