-- Adds a job in the caller's transaction: it exists if that commits. Returns whether a job was added.
--   p_at    null: at once
--   p_lock  jobs with the same lock run one after the other, in the order of adding
--   p_once  no job is added if one of this name waits
CREATE OR REPLACE FUNCTION defer_job(
    p_queue text, p_task text, p_org text, p_id text, p_priority integer, p_at timestamptz, p_lock text, p_once text
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = queue, pg_temp AS $$
BEGIN
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
    VALUES (p_queue, p_task, p_priority, p_lock, p_once, jsonb_build_object('org_id', p_org, 'subject_id', p_id), p_at)
    ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING;
    RETURN FOUND;
END $$;
CALL callable_by('defer_job', ARRAY['api', 'proxy', 'worker']);
