-- Records exchanges that were not captured. A repeated report has no effect.
CREATE OR REPLACE FUNCTION record_traffic_losses(
    p_org text[], p_loss text[], p_cause text[], p_exchanges bigint[], p_since timestamptz[], p_until timestamptz[]
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO traffic_losses (org_id, loss_id, cause, exchanges, since, until)
    SELECT l.* FROM unnest(p_org, p_loss, p_cause, p_exchanges, p_since, p_until)
        AS l(org_id, loss_id, cause, exchanges, since, until)
    WHERE EXISTS (SELECT FROM organizations o WHERE o.org_id = l.org_id)
    ON CONFLICT DO NOTHING
$$;
CALL callable_by('record_traffic_losses', ARRAY['proxy']);
