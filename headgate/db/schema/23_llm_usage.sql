-- What agents used of language models, by day in UTC. The applier adds what the outcomes of calls say
-- (docs/decisions/0093-budgets-of-tokens-and-money.md).
CREATE TABLE llm_usage (
    org_id               text COLLATE "C" NOT NULL,
    day                  date NOT NULL, -- when the answer ended
    agent_id             text COLLATE "C" NOT NULL,
    model                text COLLATE "C" NOT NULL CHECK (length(model) <= 300), -- provider/model
    calls                bigint NOT NULL,
    tokens_in            bigint NOT NULL, -- the next two among them
    tokens_cached        bigint NOT NULL,
    tokens_cache_written bigint NOT NULL,
    tokens_out           bigint NOT NULL,
    estimated_calls      bigint NOT NULL, -- whose answer did not say
    PRIMARY KEY (org_id, day, agent_id, model)
);
CREATE INDEX llm_usage_by_agent ON llm_usage (org_id, agent_id, day);
CALL isolate_organizations('llm_usage');
GRANT SELECT ON llm_usage TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON llm_usage TO headgate_definer;
