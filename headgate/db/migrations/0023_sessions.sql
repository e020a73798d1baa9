-- Signing in with a browser: logins that have begun, and the sessions that they end in. Members of organizations.

-- A login before anybody is known, so it is of no organization. The state and the browser's secret are kept as hashes;
-- whoever comes back takes the row away, and so it answers one callback (RFC 9700, section 4.7).
CREATE TABLE login_attempts (
    state_hash    bytea PRIMARY KEY CHECK (octet_length(state_hash) = 32),
    browser_hash  bytea NOT NULL CHECK (octet_length(browser_hash) = 32),
    issuer        text NOT NULL,
    nonce         text NOT NULL,
    code_verifier text NOT NULL,
    return_to     text NOT NULL CHECK (length(return_to) <= 2048),
    org_id_wanted text COLLATE "C", -- where a person belongs to several
    invitation    bytea CHECK (octet_length(invitation) = 32), -- the hash of what they were invited with
    expires_at    timestamptz NOT NULL
);
CREATE INDEX login_attempts_by_expiry ON login_attempts (expires_at);
GRANT SELECT, INSERT, DELETE ON login_attempts TO headgate_definer;

CREATE FUNCTION begin_login(p_state bytea, p_browser bytea, p_issuer text, p_nonce text, p_verifier text, p_return_to text,
                            p_org_id_wanted text, p_invitation bytea, p_expires_at timestamptz)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM login_attempts WHERE expires_at <= clock_timestamp();
    INSERT INTO login_attempts (state_hash, browser_hash, issuer, nonce, code_verifier, return_to, org_id_wanted, invitation,
                                expires_at)
    VALUES (p_state, p_browser, p_issuer, p_nonce, p_verifier, p_return_to, p_org_id_wanted, p_invitation, p_expires_at);
$$;
CALL hand_to_definer('begin_login', ARRAY['api']);

CREATE FUNCTION take_login(p_state bytea)
RETURNS TABLE (browser_hash bytea, issuer text, nonce text, code_verifier text, return_to text, org_id_wanted text,
               invitation bytea, expires_at timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM login_attempts l WHERE l.state_hash = p_state
    RETURNING l.browser_hash, l.issuer, l.nonce, l.code_verifier, l.return_to, l.org_id_wanted, l.invitation, l.expires_at
$$;
CALL hand_to_definer('take_login', ARRAY['api']);

-- Roles that an administrator here gave, beside those that the newest token names.
ALTER TABLE users ADD COLUMN granted_roles text[] NOT NULL DEFAULT '{}';
CREATE INDEX users_by_subject ON users (issuer, subject);
-- Of the newest token that was seen: an older one, shown again, changes nothing of what is kept.
ALTER TABLE users ADD COLUMN token_issued_at timestamptz;

CREATE TABLE sessions (
    org_id       text COLLATE "C" NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    token_hash   bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    aal          text,
    address      text NOT NULL,
    user_agent   text CHECK (length(user_agent) <= 256),
    created_at   timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    PRIMARY KEY (org_id, session_id)
);
CREATE UNIQUE INDEX sessions_by_token ON sessions (token_hash);
CREATE INDEX sessions_by_user ON sessions (org_id, user_id, session_id);
CALL isolate_organizations('sessions');
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO headgate_api;
GRANT SELECT ON sessions, users TO headgate_definer;

-- Of a sign-in address that the local issuer signed: it opens one session.
CREATE TABLE spent_tickets (
    org_id      text COLLATE "C" NOT NULL,
    ticket_hash bytea NOT NULL CHECK (octet_length(ticket_hash) = 32),
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, ticket_hash)
);
CALL isolate_organizations('spent_tickets');
GRANT SELECT, INSERT, DELETE ON spent_tickets TO headgate_api;

-- Who a browser's cookie is, across organizations as for keys: the hash of 256 random bits names one session or none.
CREATE FUNCTION session_by_hash(p_hash bytea)
RETURNS TABLE (org_id text, session_id text, user_id text, issuer text, subject text, email text, name text, roles text[],
               deactivated_at timestamptz, aal text, created_at timestamptz, last_seen_at timestamptz,
               expires_at timestamptz, ended_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT s.org_id, s.session_id, s.user_id, u.issuer, u.subject, u.email, u.name, u.roles || u.granted_roles, u.deactivated_at, s.aal,
           s.created_at, s.last_seen_at, s.expires_at, s.ended_at
    FROM sessions s JOIN users u ON u.org_id = s.org_id AND u.user_id = s.user_id
    WHERE s.token_hash = p_hash
$$;
CALL hand_to_definer('session_by_hash', ARRAY['api']);

-- The actions below one, in order, however many there are.
DROP INDEX actions_by_parent;
CREATE INDEX actions_by_parent ON actions (org_id, parent_action_id, action_id) WHERE parent_action_id IS NOT NULL;

-- The operator makes organizations through the API, one in each transaction, as row-level security has it.
GRANT INSERT ON organizations, org_state TO headgate_api;

-- A page far behind is one stretch of the key, as the first is.
CREATE FUNCTION organizations_listed(p_before text, p_limit integer)
RETURNS TABLE (org_id text, name text, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id, o.name, o.created_at FROM organizations o
    WHERE o.org_id < coalesce(p_before, '~') COLLATE "C" ORDER BY o.org_id DESC LIMIT p_limit
$$;
CALL hand_to_definer('organizations_listed', ARRAY['api']);

-- Where a person belongs whose token names no organization: where somebody here made them a member.
CREATE FUNCTION memberships(p_issuer text, p_subject text)
RETURNS TABLE (org_id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT o.org_id, o.name FROM users u JOIN organizations o ON o.org_id = u.org_id
    WHERE u.issuer = p_issuer AND u.subject = p_subject AND u.granted_roles <> '{}' AND u.deactivated_at IS NULL
    ORDER BY o.name, o.org_id LIMIT 100
$$;
CALL hand_to_definer('memberships', ARRAY['api']);

CREATE TABLE invitations (
    org_id        text COLLATE "C" NOT NULL,
    invitation_id text COLLATE "C" NOT NULL,
    email         text NOT NULL CHECK (length(email) BETWEEN 3 AND 320),
    roles         text[] NOT NULL CHECK (cardinality(roles) > 0),
    secret_hash   bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    created_by    text COLLATE "C",
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    accepted_at   timestamptz,
    accepted_by   text COLLATE "C",
    revoked_at    timestamptz,
    PRIMARY KEY (org_id, invitation_id)
);
CREATE UNIQUE INDEX invitations_by_secret ON invitations (secret_hash);
CALL isolate_organizations('invitations');
GRANT SELECT, INSERT, UPDATE ON invitations TO headgate_api;
GRANT SELECT ON invitations TO headgate_definer;

CREATE FUNCTION invitation_by_hash(p_hash bytea)
RETURNS TABLE (org_id text, invitation_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT i.org_id, i.invitation_id FROM invitations i WHERE i.secret_hash = p_hash
$$;
CALL hand_to_definer('invitation_by_hash', ARRAY['api']);

-- Lists of agents and keys, however many there are.

-- Words of an agent, for looking by how they begin. ASCII punctuation parts them, in names and in what is looked for alike.
ALTER TABLE agents ADD COLUMN words tsvector GENERATED ALWAYS AS (
    to_tsvector('simple', translate(name || ' ' || coalesce(description, ''), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)))
) STORED;
CREATE INDEX agents_by_word ON agents USING gin (words) WITH (fastupdate = off);
CREATE INDEX agents_by_tag ON agents USING gin (tags) WITH (fastupdate = off);
CREATE INDEX agents_by_status ON agents (org_id, status, agent_id);
CREATE INDEX agents_by_owner ON agents (org_id, owner, agent_id) WHERE owner IS NOT NULL;
CREATE INDEX api_keys_by_kind ON api_keys (org_id, kind, key_id);
CREATE INDEX api_keys_revoked ON api_keys (org_id, key_id) WHERE revoked_at IS NOT NULL;
CREATE INDEX api_keys_by_end ON api_keys (org_id, coalesce(expires_at, 'infinity')) WHERE revoked_at IS NULL;
-- Only a key that lasts longer can be as old and work: few, where most have the default lifetime.
CREATE INDEX api_keys_long_lived ON api_keys (org_id, key_id)
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at - created_at > interval '90 days');
DROP INDEX api_keys_by_agent;
CREATE INDEX api_keys_by_agent ON api_keys (org_id, agent_id, key_id);

-- A definer's, because behind row-level security an index is used with leakproof operators only, and those of words and
-- arrays are not. It sees the transaction's organization and no other. How many have a word or a tag is not what statistics
-- say: a look at the newest tells of each word and the tag how many have it. From that follows what costs less: to read on
-- from there, which finds the common, or to collect what the index names of the rarer ones and ask each of those for the rest.
CREATE FUNCTION agents_found(p_words text, p_beginning text, p_status text, p_tag text, p_owner text, p_before text,
                             p_ordered boolean, p_limit integer, p_offset integer)
RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    looked_at constant integer := 2000;
    fetching constant double precision := 4; -- a row that an index names lies anywhere: it costs so many that are read in order
    collecting constant double precision := 0.4; -- what it costs to note one that an index names
    common constant double precision := 0.05; -- to collect what so many have costs more than to ask each row that is left
    plain constant text := 'SELECT a.agent_id, a.words, a.tags FROM agents a WHERE a.org_id = $1'
        || CASE WHEN p_beginning IS NULL THEN '' ELSE ' AND a.agent_id >= $3 AND a.agent_id < $3 || ''~''' END
        || CASE WHEN p_status IS NULL THEN '' ELSE ' AND a.status = $4' END
        || CASE WHEN p_owner IS NULL THEN '' ELSE ' AND a.owner = $6' END
        || CASE WHEN p_before IS NULL THEN '' ELSE ' AND a.agent_id < $7' END;
    newest_first constant text := plain || ' ORDER BY a.agent_id DESC';
    bounds constant text := CASE WHEN p_ordered THEN ' ORDER BY agent_id DESC' ELSE '' END || ' LIMIT $8 OFFSET $9';
    words constant tsquery[] := ARRAY(SELECT to_tsquery('simple', w) FROM unnest(string_to_array(p_words, ' & ')) AS w);
    needed constant double precision := p_limit::double precision + p_offset; -- null: all
    stored double precision;
    asked text[] := '{}'; -- of each row
    sought text[] := '{}'; -- the same, of the index
    seen integer;
    hits integer;
    each integer[];
    rarest integer;
    every text;
    named text;
    query text;
BEGIN
    FOR i IN 1 .. cardinality(words) LOOP
        asked := asked || format('ts_match_vq(a.words, ($2)[%s])', i);
        sought := sought || format('a.words @@ ($2)[%s]', i);
    END LOOP;
    IF p_words IS NOT NULL AND cardinality(words) = 0 THEN
        RETURN;
    END IF;
    IF p_tag IS NOT NULL THEN
        asked := asked || 'arraycontains(a.tags, ARRAY[$5])'::text;
        sought := sought || 'a.tags @> ARRAY[$5]'::text;
    END IF;
    every := array_to_string(asked, ' AND ');
    IF asked = '{}' THEN
        query := plain || bounds;
    ELSE
        EXECUTE format('SELECT count(*), count(*) FILTER (WHERE %s), ARRAY[%s] FROM (%s LIMIT %s) a', every,
                (SELECT string_agg(format('count(*) FILTER (WHERE %s)', one), ', ') FROM unnest(asked) AS one),
                newest_first, looked_at)
            INTO seen, hits, each
            USING current_org(), words, p_beginning, p_status, p_tag, p_owner, p_before, p_limit, p_offset;
        rarest := (SELECT min(one) FROM unnest(each) AS one);
        stored := (SELECT greatest(c.reltuples, looked_at) FROM pg_class c WHERE c.oid = 'agents'::regclass);
        -- Read on: so many rows until enough are found. By the index: as many as have the rarest of what is sought; where
        -- their order is all the same, until enough are found.
        IF seen < looked_at OR rarest::double precision / seen > common AND hits > 0 OR hits > 0
           AND needed * seen / hits < stored * rarest / seen * (collecting + fetching
               * (CASE WHEN p_ordered THEN 1 ELSE least(1, needed / (stored * hits / seen)) END)) THEN
            query := format('SELECT a.agent_id FROM (%s OFFSET 0) a WHERE %s', newest_first, every) || bounds;
        ELSE
            named := (SELECT string_agg(CASE WHEN n = rarest OR n < common * seen AND hits < rarest THEN s ELSE q END, ' AND ')
                      FROM unnest(sought, asked, each) AS x(s, q, n));
            query := format('WITH a AS MATERIALIZED (%s AND %s) SELECT agent_id FROM a',
                replace(plain, ', a.words, a.tags', ''), named) || bounds;
        END IF;
    END IF;
    RETURN QUERY EXECUTE format('SELECT agent_id FROM (%s) found', query)
        USING current_org(), words, p_beginning, p_status, p_tag, p_owner, p_before, p_limit, p_offset;
END
$$;
CALL hand_to_definer('agents_found', ARRAY['api']);

-- Keys that somebody should replace, each told of once.
ALTER TABLE api_keys ADD COLUMN reminded_at timestamptz;
CREATE INDEX api_keys_to_remind_by_age ON api_keys (created_at) WHERE revoked_at IS NULL AND reminded_at IS NULL;
CREATE INDEX api_keys_to_remind_by_end ON api_keys (expires_at) WHERE revoked_at IS NULL AND reminded_at IS NULL;
-- The worker sees of a key what the reminder says, and never its hash.
GRANT SELECT (org_id, key_id, kind, agent_id, created_at, expires_at, revoked_at, reminded_at), UPDATE (reminded_at)
    ON api_keys TO headgate_worker;

CREATE FUNCTION key_reminders_due(p_older_than timestamptz, p_ends_before timestamptz)
RETURNS TABLE (org_id text, key_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    (SELECT k.org_id, k.key_id FROM api_keys k
     WHERE k.revoked_at IS NULL AND k.reminded_at IS NULL AND k.created_at <= p_older_than
       AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
     ORDER BY k.created_at LIMIT 500)
    UNION
    (SELECT k.org_id, k.key_id FROM api_keys k
     WHERE k.revoked_at IS NULL AND k.reminded_at IS NULL AND k.expires_at > clock_timestamp()
       AND k.expires_at <= p_ends_before AND k.expires_at - k.created_at > interval '14 days'
     ORDER BY k.expires_at LIMIT 500)
$$;
CALL hand_to_definer('key_reminders_due', ARRAY['worker']);
