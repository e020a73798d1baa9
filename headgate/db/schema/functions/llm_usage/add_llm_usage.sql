-- Adds what a round's outcomes used. Of one agent and day only so many models are counted by name (p_models_max): agents choose
-- the names. The caller holds the lock of the organization's chain.
CREATE OR REPLACE FUNCTION add_llm_usage(
    p_org text, p_models_max integer, p_other text, p_agent text[], p_day date[], p_model text[], p_calls bigint[],
    p_in bigint[], p_cached bigint[], p_cache_written bigint[], p_out bigint[], p_estimated bigint[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    used record;
    named text;
BEGIN
    FOR used IN SELECT * FROM unnest(p_agent, p_day, p_model, p_calls, p_in, p_cached, p_cache_written, p_out, p_estimated)
                    AS n(agent_id, day, model, calls, tokens_in, cached, cache_written, tokens_out, estimated) LOOP
        named := used.model;
        IF NOT EXISTS (SELECT FROM llm_usage u WHERE u.org_id = p_org AND u.day = used.day AND u.agent_id = used.agent_id
                       AND u.model = used.model)
           AND (SELECT count(*) FROM llm_usage u WHERE u.org_id = p_org AND u.day = used.day AND u.agent_id = used.agent_id)
               >= p_models_max THEN
            named := p_other;
        END IF;
        INSERT INTO llm_usage AS u (org_id, day, agent_id, model, calls, tokens_in, tokens_cached, tokens_cache_written,
                                    tokens_out, estimated_calls)
        VALUES (p_org, used.day, used.agent_id, named, used.calls, used.tokens_in, used.cached, used.cache_written,
                used.tokens_out, used.estimated)
        ON CONFLICT (org_id, day, agent_id, model) DO UPDATE SET
            calls = u.calls + EXCLUDED.calls, tokens_in = u.tokens_in + EXCLUDED.tokens_in,
            tokens_cached = u.tokens_cached + EXCLUDED.tokens_cached,
            tokens_cache_written = u.tokens_cache_written + EXCLUDED.tokens_cache_written,
            tokens_out = u.tokens_out + EXCLUDED.tokens_out, estimated_calls = u.estimated_calls + EXCLUDED.estimated_calls;
    END LOOP;
END $$;
CALL callable_by('add_llm_usage', ARRAY['api', 'worker']);
