-- Passkeys (WebAuthn) of users whom no identity provider knows.

-- A challenge has no organization, as the person who signs in is not known yet. It is stored as a hash, and taken once.
CREATE TABLE passkey_challenges (
    challenge_hash bytea PRIMARY KEY CHECK (octet_length(challenge_hash) = 32),
    purpose        text COLLATE "C" NOT NULL CHECK (purpose IN ('register', 'sign_in')),
    about          text COLLATE "C" NOT NULL CHECK (length(about) <= 128), -- the user, or the hash of an invitation's secret
    user_handle    bytea NOT NULL CHECK (octet_length(user_handle) <= 64),
    expires_at     timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);
GRANT SELECT, INSERT, DELETE ON passkey_challenges TO headgate_definer;

-- credential: AAGUID, id and COSE public key, as the authenticator wrote them. Public, all of it.
CREATE TABLE passkeys (
    org_id        text COLLATE "C" NOT NULL,
    passkey_id    text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    credential_id bytea NOT NULL CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    credential    bytea NOT NULL CHECK (octet_length(credential) <= 4096),
    user_handle   bytea NOT NULL CHECK (octet_length(user_handle) BETWEEN 1 AND 64),
    sign_count    bigint NOT NULL CHECK (sign_count >= 0),
    name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
    created_at    timestamptz NOT NULL,
    last_used_at  timestamptz,
    PRIMARY KEY (org_id, passkey_id)
);
-- One credential is one user's, over all organizations.
CREATE UNIQUE INDEX passkeys_by_credential ON passkeys (credential_id);
CREATE INDEX passkeys_by_user ON passkeys (org_id, user_id, passkey_id);
CALL isolate_organizations('passkeys');
GRANT SELECT, INSERT, UPDATE, DELETE ON passkeys TO headgate_api;
GRANT SELECT ON passkeys TO headgate_definer;
