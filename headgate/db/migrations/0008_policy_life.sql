-- The life of a rule policy: who changed what and why, policies that only watch, what policies read beside the call
-- (data documents, shared modules), and reports of what a policy would have done.

ALTER TABLE policies ADD COLUMN mode text NOT NULL DEFAULT 'enforce' CHECK (mode IN ('enforce', 'shadow'));
ALTER TABLE policies ADD COLUMN rules text; -- what the Rego was made from, where that was the camelCase shape

ALTER TABLE policy_versions
    ADD COLUMN mode          text NOT NULL DEFAULT 'enforce',
    ADD COLUMN rules         text,
    ADD COLUMN change        text NOT NULL DEFAULT 'created' CHECK (change IN ('created', 'updated', 'deleted', 'restored')),
    ADD COLUMN note          text CHECK (length(note) <= 1000),
    ADD COLUMN actor         text, -- canonical JSON {type, id, name?}
    ADD COLUMN restored_from integer;

-- Data documents (path a.b is data.a.b) and modules (path x is the package lib.x).
CREATE TABLE policy_documents (
    org_id     text COLLATE "C" NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('data', 'module')),
    path       text COLLATE "C" NOT NULL,
    version    integer NOT NULL CHECK (version >= 1),
    content    text NOT NULL, -- canonical JSON, or Rego
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (org_id, kind, path)
);

CREATE TABLE policy_document_versions (
    org_id     text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    path       text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    change     text NOT NULL CHECK (change IN ('created', 'updated', 'deleted', 'restored')),
    content    text NOT NULL,
    note       text CHECK (length(note) <= 1000),
    actor      text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, kind, path, version)
);

-- What a shadow policy said beside what was decided; "none" where it said nothing.
CREATE TABLE shadow_counts (
    org_id    text COLLATE "C" NOT NULL,
    policy_id text COLLATE "C" NOT NULL,
    version   integer NOT NULL,
    said      text NOT NULL,
    decided   text NOT NULL,
    would     text NOT NULL, -- the decision, had the policy been enforced
    calls     bigint NOT NULL,
    first_at  timestamptz NOT NULL,
    last_at   timestamptz NOT NULL,
    PRIMARY KEY (org_id, policy_id, version, said, decided, would)
);

CREATE TABLE policy_replays (
    org_id     text COLLATE "C" NOT NULL,
    replay_id  text COLLATE "C" NOT NULL,
    created_by text NOT NULL, -- canonical JSON {type, id, name?}
    created_at timestamptz NOT NULL,
    report     text NOT NULL, -- canonical JSON
    PRIMARY KEY (org_id, replay_id)
);

CALL isolate_organizations('policy_documents');
CALL isolate_organizations('policy_document_versions');
CALL isolate_organizations('shadow_counts');
CALL isolate_organizations('policy_replays');

GRANT SELECT ON policy_documents TO headgate_api, headgate_proxy, headgate_worker;
GRANT SELECT ON policy_document_versions, shadow_counts, policy_replays TO headgate_api;
GRANT INSERT, UPDATE ON policy_documents TO headgate_api;
GRANT INSERT ON policy_document_versions, policy_replays TO headgate_api;
GRANT SELECT, INSERT, UPDATE ON shadow_counts TO headgate_definer;

-- What shadow policies said of recorded calls, added up by the process that asked them. An action that is not there
-- (or not this agent's) is no event.
CREATE FUNCTION record_shadow(
    p_org text[], p_policy text[], p_version integer[], p_said text[], p_decided text[], p_would text[],
    p_calls bigint[], p_at timestamptz[],
    p_event_org text[], p_event_action text[], p_event_agent text[], p_event_at timestamptz[], p_event_payload text[]
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO shadow_counts AS c (org_id, policy_id, version, said, decided, would, calls, first_at, last_at)
    SELECT s.org_id, s.policy_id, s.version, s.said, s.decided, s.would, s.calls, s.at, s.at
    FROM unnest(p_org, p_policy, p_version, p_said, p_decided, p_would, p_calls, p_at)
         AS s(org_id, policy_id, version, said, decided, would, calls, at)
    WHERE EXISTS (SELECT FROM policies p WHERE p.org_id = s.org_id AND p.policy_id = s.policy_id)
    ORDER BY s.org_id, s.policy_id, s.version, s.said, s.decided, s.would
    ON CONFLICT (org_id, policy_id, version, said, decided, would) DO UPDATE
    SET calls = c.calls + excluded.calls, last_at = greatest(c.last_at, excluded.last_at);
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT e.org_id, 'decision.shadowed', e.action_id, e.agent_id, e.at, e.payload
    FROM unnest(p_event_org, p_event_action, p_event_agent, p_event_at, p_event_payload)
         AS e(org_id, action_id, agent_id, at, payload)
    WHERE EXISTS (SELECT FROM actions a
                  WHERE a.org_id = e.org_id AND a.action_id = e.action_id AND a.agent_id = e.agent_id)
$$;

CALL hand_to_definer('record_shadow', ARRAY['proxy', 'api']);
