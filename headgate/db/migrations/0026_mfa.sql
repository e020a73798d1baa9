-- The second factor: recovery codes, the factors of people whose tokens Headgate issues, and sessions that were closed.

-- One batch a person: making another voids the one before. All codes of it are hashed with its salt.
CREATE TABLE mfa_recovery_batches (
    org_id     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    batch_id   text COLLATE "C" NOT NULL,
    salt       bytea NOT NULL CHECK (octet_length(salt) = 16),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, user_id)
);

-- claimed_at: a verification is under way; used_at: it has ended, and so has the code.
CREATE TABLE mfa_recovery_codes (
    org_id     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    batch_id   text COLLATE "C" NOT NULL,
    code_hash  bytea NOT NULL CHECK (octet_length(code_hash) = 32),
    claimed_at timestamptz,
    used_at    timestamptz,
    PRIMARY KEY (org_id, user_id, code_hash)
);

-- TOTP of the local issuer; the secret is in the vault. last_step: the step whose code was used last (RFC 6238, 5.2).
CREATE TABLE mfa_factors (
    org_id       text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'active')),
    last_step    bigint,
    created_at   timestamptz NOT NULL,
    activated_at timestamptz,
    PRIMARY KEY (org_id, user_id, status)
);

CREATE TABLE mfa_attempts (
    org_id       text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    attempted    text COLLATE "C" NOT NULL CHECK (attempted IN ('recovery_code', 'totp')),
    count        integer NOT NULL,
    began_at     timestamptz,
    locked_until timestamptz,
    lock_outs    integer NOT NULL,
    PRIMARY KEY (org_id, user_id, attempted)
);

-- Tokens of this person that were issued before are refused, but for the one with this digest (SHA-256).
CREATE TABLE closed_sessions (
    org_id        text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    issued_before timestamptz NOT NULL,
    kept_token    bytea,
    PRIMARY KEY (org_id, user_id)
);

CALL isolate_organizations('mfa_recovery_batches');
CALL isolate_organizations('mfa_recovery_codes');
CALL isolate_organizations('mfa_factors');
CALL isolate_organizations('mfa_attempts');
CALL isolate_organizations('closed_sessions');
-- Whoever reads the record has no use for hashes and salts.
REVOKE SELECT ON mfa_recovery_batches, mfa_recovery_codes, mfa_factors, mfa_attempts, closed_sessions FROM headgate_auditor;

GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_recovery_batches, mfa_recovery_codes, mfa_factors, mfa_attempts, closed_sessions TO headgate_api;

-- What the rotation of the master keys has left to do, and which keys are in use: names only, over all organizations.
CREATE INDEX vault_secrets_by_key ON vault_secrets (key_id, org_id, name);

CREATE FUNCTION vault_due(p_current text, p_after_org text, p_after_name text, p_limit integer)
RETURNS TABLE (org_id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT v.org_id, v.name FROM vault_secrets v
    WHERE v.key_id <> p_current AND (v.org_id, v.name) > (p_after_org, p_after_name)
    ORDER BY v.org_id, v.name LIMIT p_limit
$$;
CALL hand_to_definer('vault_due', ARRAY['api']);
