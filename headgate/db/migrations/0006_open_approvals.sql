-- How many approvals wait for a person, over all organizations, for the metric: a count and nothing else.
CREATE FUNCTION approvals_open() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM approvals a WHERE a.status = 'pending' AND a.expires_at > clock_timestamp()
$$;
CALL hand_to_definer('approvals_open', ARRAY['api', 'worker']);

-- How many of one agent: an agent must not bury its reviewers (hold_action_in_room).
CREATE INDEX approvals_open_by_agent ON approvals (org_id, agent_id) WHERE status = 'pending';
