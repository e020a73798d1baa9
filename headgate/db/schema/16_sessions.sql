-- Browser sign-in: logins in progress, sessions, and invitations.

-- A login in progress has no organization, as the person is not known yet. State and browser secret are stored as hashes. The
-- callback deletes the row, so that it answers one callback only (RFC 9700, section 4.7).
CREATE TABLE login_attempts (
    state_hash    bytea PRIMARY KEY CHECK (octet_length(state_hash) = 32),
    browser_hash  bytea NOT NULL CHECK (octet_length(browser_hash) = 32),
    issuer        text NOT NULL,
    nonce         text NOT NULL,
    code_verifier text NOT NULL,
    return_to     text NOT NULL CHECK (length(return_to) <= 2048),
    org_id_wanted text COLLATE "C", -- for a person who belongs to several
    invitation    bytea CHECK (octet_length(invitation) = 32), -- hash of the invitation's secret
    expires_at    timestamptz NOT NULL
);
CREATE INDEX login_attempts_by_expiry ON login_attempts (expires_at);
GRANT SELECT, INSERT, DELETE ON login_attempts TO headgate_definer;

CREATE TABLE sessions (
    org_id       text COLLATE "C" NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    token_hash   bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    -- The provider's session id (sid): it reports by it that its session has ended.
    provider_sid text CHECK (length(provider_sid) BETWEEN 1 AND 256),
    -- For sign-out at the provider; sealed with the session's secret, which is not in the database.
    logout_hint  bytea CHECK (octet_length(logout_hint) <= 17000),
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
CREATE INDEX sessions_by_provider_sid ON sessions (provider_sid) WHERE provider_sid IS NOT NULL AND ended_at IS NULL;
CALL isolate_organizations('sessions');
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO headgate_api;
GRANT SELECT ON sessions TO headgate_definer;

-- Used sign-in links of the local issuer: each opens one session.
CREATE TABLE spent_tickets (
    org_id      text COLLATE "C" NOT NULL,
    ticket_hash bytea NOT NULL CHECK (octet_length(ticket_hash) = 32),
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, ticket_hash)
);
CALL isolate_organizations('spent_tickets');
GRANT SELECT, INSERT, DELETE ON spent_tickets TO headgate_api;

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
-- The worker mails open invitations.
GRANT SELECT ON invitations TO headgate_worker, headgate_definer;

-- Tokens of this user issued before are refused, but for the token with this SHA-256 digest.
CREATE TABLE closed_sessions (
    org_id        text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    issued_before timestamptz NOT NULL,
    kept_token    bytea,
    PRIMARY KEY (org_id, user_id)
);
CALL isolate_organizations('closed_sessions', auditor_reads => false);
GRANT SELECT, INSERT, UPDATE, DELETE ON closed_sessions TO headgate_api;
