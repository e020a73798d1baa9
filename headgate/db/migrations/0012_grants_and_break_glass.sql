-- Standing permissions (grants) and broken glass: what lets a call through that policies ask about, or deny.
-- Both are claimed in the transaction that records the action, before the first byte is sent, under the row's lock.

CREATE TABLE grants (
    org_id      text COLLATE "C" NOT NULL,
    grant_id    text COLLATE "C" NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    tool        text NOT NULL,
    operation   text NOT NULL,
    scope       text NOT NULL, -- canonical JSON: {conditions: […]} or {digest}
    policy_ids  text[] NOT NULL, -- whose asking it answers
    granters    text NOT NULL, -- canonical JSON: [{voter_id, email, as_admin, at}], the approvals that it stands for
    max_uses    integer NOT NULL CHECK (max_uses >= 1),
    uses        integer NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
    sum_param   text,
    max_sum     numeric CHECK (max_sum > 0),
    used_sum    numeric NOT NULL DEFAULT 0 CHECK (used_sum >= 0 AND (max_sum IS NULL OR used_sum <= max_sum)),
    reason      text NOT NULL,
    approval_id text COLLATE "C", -- with which it was given, if so
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL CHECK (expires_at > created_at),
    revoked_at  timestamptz,
    revoked_by  text COLLATE "C",
    revoke_reason text,
    PRIMARY KEY (org_id, grant_id),
    CHECK ((sum_param IS NULL) = (max_sum IS NULL))
);
CREATE INDEX grants_by_agent ON grants (org_id, agent_id, grant_id);
CREATE INDEX grants_in_force ON grants (org_id, expires_at) WHERE revoked_at IS NULL;

CREATE TABLE grant_uses (
    org_id        text COLLATE "C" NOT NULL,
    action_id     text COLLATE "C" NOT NULL,
    grant_id      text COLLATE "C" NOT NULL,
    execution_id  text COLLATE "C",
    amount        numeric NOT NULL DEFAULT 0,
    used_at       timestamptz NOT NULL,
    given_back_at timestamptz, -- nothing was sent
    PRIMARY KEY (org_id, action_id)
);
CREATE INDEX grant_uses_by_grant ON grant_uses (org_id, grant_id, action_id);

CREATE TABLE break_glass (
    org_id            text COLLATE "C" NOT NULL,
    pass_id           text COLLATE "C" NOT NULL,
    action_id         text COLLATE "C" NOT NULL, -- the one that was denied
    agent_id          text COLLATE "C" NOT NULL,
    tool              text NOT NULL,
    operation         text NOT NULL,
    digest            bytea NOT NULL CHECK (octet_length(digest) = 32),
    reason            text NOT NULL,
    opened_by         text COLLATE "C" NOT NULL,
    opened_by_email   text,
    created_at        timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL CHECK (expires_at > created_at),
    used_at           timestamptz,
    used_action_id    text COLLATE "C",
    reviewed_at       timestamptz,
    reviewed_by       text COLLATE "C",
    reviewed_by_email text,
    review_outcome    text CHECK (review_outcome IN ('justified', 'not_justified')),
    review_note       text,
    PRIMARY KEY (org_id, pass_id),
    CHECK (reviewed_by IS NULL OR reviewed_by <> opened_by)
);
CREATE UNIQUE INDEX break_glass_by_use ON break_glass (org_id, used_action_id) WHERE used_action_id IS NOT NULL;
CREATE INDEX break_glass_to_review ON break_glass (org_id, pass_id) WHERE reviewed_at IS NULL;

-- What a reviewer is shown of earlier decisions. Partial: a call that nobody had to look at costs nothing more.
CREATE INDEX actions_decided_alike ON actions (org_id, agent_id, tool, operation, action_id) WHERE approval_id IS NOT NULL;

CALL isolate_organizations('grants');
CALL isolate_organizations('grant_uses');
CALL isolate_organizations('break_glass');

GRANT SELECT ON grants, break_glass TO headgate_api, headgate_proxy, headgate_worker;
GRANT SELECT ON grant_uses TO headgate_api, headgate_worker;
GRANT INSERT, UPDATE (granters, revoked_at, revoked_by, revoke_reason) ON grants TO headgate_api;
GRANT INSERT, UPDATE (reviewed_at, reviewed_by, reviewed_by_email, review_outcome, review_note) ON break_glass TO headgate_api;
GRANT SELECT, INSERT, UPDATE ON grants, grant_uses, break_glass TO headgate_definer;

-- An action that a grant or a broken glass lets through: claimed, recorded and (where Headgate makes the call itself)
-- begun, all or nothing. outcome: used | stale | unknown | duplicate (as record_actions) | unusable (revoked, past its
-- time, used up, or not enough left of its sum) | asked (an approval of exactly this call is open, unused, or was
-- denied: that goes before a grant).
CREATE FUNCTION use_exemption(
    p_org text, p_generation bigint, p_exemption text, p_amount numeric,
    p_action text, p_agent text, p_key text, p_source text, p_tool text, p_operation text, p_status text,
    p_digest bytea, p_request text, p_decision text, p_risk text, p_parent text, p_created timestamptz,
    p_execution text, p_instance text, p_idempotency text, p_request_digest bytea,
    p_submitted text, p_decided text, p_started text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    held grants;
    pass break_glass;
    newest approvals;
    verb text;
    told text;
BEGIN
    -- Locked first: revocation, another proxy's use and this one are decided one after the other.
    IF p_exemption LIKE 'grt\_%' THEN
        SELECT * INTO held FROM grants g
        WHERE g.org_id = p_org AND g.grant_id = p_exemption AND g.agent_id = p_agent
          AND g.tool = p_tool AND g.operation = p_operation FOR UPDATE;
        IF held.grant_id IS NULL OR held.revoked_at IS NOT NULL OR clock_timestamp() >= held.expires_at
           OR held.uses >= held.max_uses OR p_amount < 0 OR (held.max_sum IS NOT NULL AND p_amount IS NULL)
           OR held.used_sum + coalesce(p_amount, 0) > held.max_sum THEN
            RETURN 'unusable';
        END IF;
        -- Each explicit action has an approval of its own: another's, open or unused, is not this one's; a denial is.
        SELECT * INTO newest FROM approvals a
        WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.digest = p_digest AND a.source = p_source
          AND (p_source = 'proxy' OR a.status IN ('approved', 'denied'))
        ORDER BY a.approval_id DESC LIMIT 1;
        IF (newest.status IN ('pending', 'denied') AND clock_timestamp() < newest.expires_at)
           OR (p_source = 'proxy' AND newest.status = 'approved' AND newest.used_at IS NULL
               AND clock_timestamp() < greatest(newest.expires_at, newest.decided_at + interval '15 minutes')) THEN
            RETURN 'asked';
        END IF;
    ELSE
        SELECT * INTO pass FROM break_glass b
        WHERE b.org_id = p_org AND b.pass_id = p_exemption AND b.agent_id = p_agent AND b.digest = p_digest FOR UPDATE;
        IF pass.pass_id IS NULL OR pass.used_at IS NOT NULL OR pass.reviewed_at IS NOT NULL
           OR clock_timestamp() >= pass.expires_at THEN
            RETURN 'unusable';
        END IF;
    END IF;
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'active') THEN
        RETURN 'unknown';
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation) THEN
        RETURN 'stale';
    END IF;
    IF p_idempotency IS NOT NULL THEN
        INSERT INTO idempotency_keys (org_id, agent_id, idempotency_key, request_digest, action_id)
        VALUES (p_org, p_agent, p_idempotency, p_request_digest, p_action) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN 'duplicate';
        END IF;
    END IF;

    IF pass.pass_id IS NULL THEN
        UPDATE grants g SET uses = g.uses + 1, used_sum = g.used_sum + coalesce(p_amount, 0)
        WHERE g.org_id = p_org AND g.grant_id = p_exemption RETURNING * INTO held;
        INSERT INTO grant_uses (org_id, action_id, grant_id, execution_id, amount, used_at)
        VALUES (p_org, p_action, p_exemption, p_execution, coalesce(p_amount, 0), p_created);
        verb := 'grant.used';
        told := '{"grant_id":"' || p_exemption || '","max_uses":' || held.max_uses
                || CASE WHEN held.max_sum IS NULL THEN '' ELSE ',"used_sum":"' || held.used_sum || '"' END
                || ',"uses":' || held.uses || '}';
    ELSE
        UPDATE break_glass b SET used_at = clock_timestamp(), used_action_id = p_action
        WHERE b.org_id = p_org AND b.pass_id = p_exemption;
        verb := 'break_glass.used';
        told := '{"denied_action_id":"' || pass.action_id || '","opened_by":"' || pass.opened_by
                || '","pass_id":"' || p_exemption || '"}';
    END IF;
    told := '{"actor":{"id":"headgate","type":"system"},"data":' || told || '}';

    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request,
                         decision, risk_level, parent_action_id, created_at, updated_at)
    VALUES (p_org, p_action, p_agent, p_key, p_source, p_tool, p_operation, p_status, p_digest, p_request,
            p_decision, p_risk, p_parent, p_created, p_created);
    IF p_execution IS NOT NULL THEN
        INSERT INTO executions (org_id, execution_id, action_id, instance_id, status, attempts, started_at)
        VALUES (p_org, p_execution, p_action, p_instance, 'running', 1, p_created);
    END IF;
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT p_org, e.event_type, p_action, p_agent, p_created, e.payload
    FROM (VALUES (1, 'action.submitted', p_submitted), (2, 'decision.made', p_decided), (3, verb, told),
                 (4, 'execution.started', p_started)) AS e(step, event_type, payload)
    WHERE e.payload IS NOT NULL ORDER BY e.step;
    IF pass.pass_id IS NULL AND (held.uses >= held.max_uses OR held.used_sum >= held.max_sum) THEN
        INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
        VALUES (p_org, 'grant.exhausted', p_action, p_agent, p_created, told);
    END IF;
    RETURN 'used';
END $$;
CALL hand_to_definer('use_exemption', ARRAY['proxy', 'api']);

-- Nothing was sent under it: the use is given back, once. p_execution: null for an action that was submitted. Processes forget a grant that is used up, so one that is not
-- any more raises the generation.
CREATE FUNCTION give_back_exemption(p_org text, p_exemption text, p_action text, p_execution text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    held grants;
    returned numeric;
BEGIN
    IF p_exemption LIKE 'brk\_%' THEN
        UPDATE break_glass b SET used_at = NULL, used_action_id = NULL
        WHERE b.org_id = p_org AND b.pass_id = p_exemption AND b.used_action_id = p_action AND b.used_at IS NOT NULL;
        RETURN;
    END IF;
    SELECT * INTO held FROM grants g WHERE g.org_id = p_org AND g.grant_id = p_exemption FOR UPDATE;
    UPDATE grant_uses u SET given_back_at = p_at
    WHERE u.org_id = p_org AND u.action_id = p_action AND u.grant_id = p_exemption
      AND u.execution_id IS NOT DISTINCT FROM p_execution
      AND u.given_back_at IS NULL
    RETURNING u.amount INTO returned;
    IF returned IS NULL THEN
        RETURN;
    END IF;
    UPDATE grants g SET uses = g.uses - 1, used_sum = g.used_sum - returned
    WHERE g.org_id = p_org AND g.grant_id = p_exemption;
    IF held.uses >= held.max_uses OR held.used_sum >= held.max_sum THEN
        UPDATE org_state s SET generation = s.generation + 1 WHERE s.org_id = p_org;
    END IF;
END $$;
CALL hand_to_definer('give_back_exemption', ARRAY[]::text[]);

-- How many wait for somebody else's review, over all organizations: a count and nothing else.
CREATE FUNCTION break_glass_open() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM break_glass b WHERE b.reviewed_at IS NULL
$$;
CALL hand_to_definer('break_glass_open', ARRAY['api', 'worker']);
