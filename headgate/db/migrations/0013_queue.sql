-- The queue of jobs: procrastinate's own schema, as the installed package carries it, in a schema of its own; and the
-- one way into it from our own transactions.
--
-- A job names what to do and for whom (task, organization, id) and nothing else. Its tables span organizations, so
-- only the worker reads them; the other parts defer through defer_job, and see numbers.

CREATE SCHEMA queue;
GRANT USAGE ON SCHEMA queue TO headgate_worker, headgate_definer;
SET LOCAL search_path = queue, pg_temp;

-- include procrastinate.sql/schema.sql

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO headgate_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA queue TO headgate_worker, headgate_definer;
GRANT SELECT, INSERT ON procrastinate_jobs, procrastinate_events TO headgate_definer;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA queue FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA queue TO headgate_worker, headgate_definer;
-- Rows live for moments.
ALTER TABLE procrastinate_jobs SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE procrastinate_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 3000);
SET LOCAL search_path = public, pg_temp;

-- Defer a job in the caller's transaction: it exists if that commits. p_at null: at once. Jobs of one p_lock run one
-- after the other, in the order of deferring. p_once: nothing happens where a job of that name waits already.
-- Returns whether a job was added.
CREATE FUNCTION defer_job(
    p_queue text, p_task text, p_org text, p_id text, p_priority integer, p_at timestamptz, p_lock text, p_once text
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = queue, pg_temp AS $$
BEGIN
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
    VALUES (p_queue, p_task, p_priority, p_lock, p_once, jsonb_build_object('org_id', p_org, 'subject_id', p_id), p_at)
    ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING;
    RETURN FOUND;
END $$;

-- By queue, over all organizations: how many wait and may run now, for how long the first of them could have, how many
-- run, how many were given up.
CREATE FUNCTION job_queues() RETURNS TABLE (queue_name text, waiting bigint, oldest_seconds double precision, running bigint, dead bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = queue, pg_temp AS $$
    SELECT j.queue_name, count(*) FILTER (WHERE j.status = 'todo' AND coalesce(j.scheduled_at <= now(), true)),
           extract(epoch FROM now() - min(coalesce(j.scheduled_at, e.at)) FILTER (WHERE j.status = 'todo' AND coalesce(j.scheduled_at <= now(), true))),
           count(*) FILTER (WHERE j.status = 'doing'), count(*) FILTER (WHERE j.status = 'failed')
    FROM procrastinate_jobs j
    LEFT JOIN LATERAL (SELECT min(x.at) AS at FROM procrastinate_events x WHERE x.job_id = j.id AND x.type = 'deferred') e ON j.status = 'todo'
    GROUP BY j.queue_name
$$;

CALL hand_to_definer('defer_job', ARRAY['api', 'proxy', 'worker']);
CALL hand_to_definer('job_queues', ARRAY['api', 'worker']);
