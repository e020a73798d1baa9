-- What is on record of one day, and which of these executions are among it: of one moment, so that a process which knows of these
-- executions counts each once. used: JSON, a list of [agent, model, calls, in, cached, cache written, out, estimated].
CREATE OR REPLACE FUNCTION llm_usage_of_day(p_org text, p_day date, p_execution text[], OUT used text, OUT applied text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT (SELECT coalesce(json_agg(json_build_array(u.agent_id, u.model, u.calls, u.tokens_in, u.tokens_cached,
                                                      u.tokens_cache_written, u.tokens_out, u.estimated_calls)), '[]')::text
            FROM llm_usage u WHERE u.org_id = p_org AND u.day = p_day),
           ARRAY (SELECT e.execution_id FROM executions e
                  WHERE e.org_id = p_org AND e.execution_id = ANY (p_execution) AND e.completed_at IS NOT NULL)
$$;
CALL callable_by('llm_usage_of_day', ARRAY['proxy']);
