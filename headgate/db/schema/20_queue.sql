-- The job queue: the schema of the installed procrastinate package, in a schema of its own.
--
-- A job names a task, an organization and a subject, nothing else. The tables span organizations, so only the worker
-- reads them. The other parts add jobs with defer_job, and read counts with job_queues.

CREATE SCHEMA queue;
GRANT USAGE ON SCHEMA queue TO headgate_worker, headgate_definer;
SET LOCAL search_path = queue, pg_temp;

-- include procrastinate.sql/schema.sql

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO headgate_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA queue TO headgate_worker, headgate_definer;
GRANT SELECT, INSERT ON procrastinate_jobs, procrastinate_events TO headgate_definer;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA queue FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA queue TO headgate_worker, headgate_definer;
-- Rows live for a short time: vacuum by their number.
ALTER TABLE procrastinate_jobs SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE procrastinate_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 3000);
SET LOCAL search_path = public, pg_temp;
