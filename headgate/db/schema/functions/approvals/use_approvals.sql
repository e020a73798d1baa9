-- Claims uses in batches, as hold_actions. Returns one outcome of use_approval per row, in the order of the rows, separated by
-- commas.
CREATE OR REPLACE FUNCTION use_approvals(
    p_org text[], p_generation bigint[], p_approval text[], p_agent text[], p_digest bytea[], p_execution text[],
    p_instance text[], p_at timestamptz[], p_redecided text[], p_started text[]
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    outcomes text[] := array_fill(NULL::text, ARRAY[cardinality(p_org)]);
    one record;
BEGIN
    FOR one IN
        SELECT * FROM unnest(
            p_org, p_generation, p_approval, p_agent, p_digest, p_execution, p_instance, p_at, p_redecided, p_started
        ) WITH ORDINALITY AS n(
            org_id, generation, approval_id, agent_id, digest, execution_id, instance_id, at, redecided, started, position)
        ORDER BY n.org_id, n.approval_id, n.position
    LOOP
        outcomes[one.position] := use_approval(
            one.org_id, one.generation, one.approval_id, one.agent_id, one.digest, one.execution_id, one.instance_id,
            one.at, one.redecided, one.started);
    END LOOP;
    RETURN array_to_string(outcomes, ',');
END $$;
CALL callable_by('use_approvals', ARRAY['proxy']);
