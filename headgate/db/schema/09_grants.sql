-- Exemptions: a grant approves similar requests in advance; break-glass lets a denied request through, with a review
-- afterwards. A use is claimed under the row's lock, in the transaction that records the action, before the first byte is
-- sent.

CREATE TABLE grants (
    org_id        text COLLATE "C" NOT NULL,
    grant_id      text COLLATE "C" NOT NULL,
    agent_id      text COLLATE "C" NOT NULL,
    tool          text NOT NULL,
    operation     text NOT NULL,
    scope         text NOT NULL, -- canonical JSON: {conditions: […]} or {digest}
    policy_ids    text[] NOT NULL, -- the policies whose hold it answers
    granters      text NOT NULL, -- canonical JSON: [{voter_id, email, as_admin, at}], the votes that it stands for
    max_uses      integer NOT NULL CHECK (max_uses >= 1),
    uses          integer NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
    sum_param     text,
    max_sum       numeric CHECK (max_sum > 0),
    used_sum      numeric NOT NULL DEFAULT 0 CHECK (used_sum >= 0 AND (max_sum IS NULL OR used_sum <= max_sum)),
    reason        text NOT NULL,
    approval_id   text COLLATE "C", -- the approval with which it was given, if any
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL CHECK (expires_at > created_at),
    revoked_at    timestamptz,
    revoked_by    text COLLATE "C",
    revoke_reason text,
    -- A column, not an index on uses: an index on uses would be written with every use.
    exhausted     boolean NOT NULL
                GENERATED ALWAYS AS (uses >= max_uses OR coalesce(used_sum >= max_sum, false)) STORED,
    PRIMARY KEY (org_id, grant_id),
    CHECK ((sum_param IS NULL) = (max_sum IS NULL))
);
CREATE INDEX grants_by_agent ON grants (org_id, agent_id, grant_id);
CREATE INDEX grants_by_tool ON grants (org_id, tool, grant_id);
CREATE INDEX grants_by_operation ON grants (org_id, operation, grant_id);
CREATE INDEX grants_revoked ON grants (org_id, grant_id) WHERE revoked_at IS NOT NULL;
-- Grants in force, in the order of their ends. A page of ended grants passes over these by an index condition.
CREATE INDEX grants_in_force ON grants (org_id, expires_at, grant_id) WHERE revoked_at IS NULL AND NOT exhausted;
CREATE INDEX grants_exhausted ON grants (org_id, expires_at, grant_id) WHERE revoked_at IS NULL AND exhausted;
CREATE INDEX grants_not_revoked ON grants (org_id, grant_id, expires_at) WHERE revoked_at IS NULL;
CALL isolate_organizations('grants');
GRANT SELECT, INSERT, UPDATE (granters, revoked_at, revoked_by, revoke_reason) ON grants TO headgate_api;
GRANT SELECT ON grants TO headgate_proxy, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON grants TO headgate_definer;

CREATE TABLE grant_uses (
    org_id        text COLLATE "C" NOT NULL,
    action_id     text COLLATE "C" NOT NULL,
    grant_id      text COLLATE "C" NOT NULL,
    execution_id  text COLLATE "C",
    amount        numeric NOT NULL DEFAULT 0,
    used_at       timestamptz NOT NULL,
    given_back_at timestamptz, -- the use was given back: nothing was sent
    PRIMARY KEY (org_id, action_id)
);
CREATE INDEX grant_uses_by_grant ON grant_uses (org_id, grant_id, action_id);
CALL isolate_organizations('grant_uses');
GRANT SELECT ON grant_uses TO headgate_api, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON grant_uses TO headgate_definer;

CREATE TABLE break_glass (
    org_id            text COLLATE "C" NOT NULL,
    pass_id           text COLLATE "C" NOT NULL,
    action_id         text COLLATE "C" NOT NULL, -- the denied action
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
CALL isolate_organizations('break_glass');
GRANT SELECT, INSERT, UPDATE (reviewed_at, reviewed_by, reviewed_by_email, review_outcome, review_note)
    ON break_glass TO headgate_api;
GRANT SELECT ON break_glass TO headgate_proxy, headgate_worker;
GRANT SELECT, INSERT, UPDATE ON break_glass TO headgate_definer;
