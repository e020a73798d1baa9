-- The second factor: recovery codes, the factors of users whose tokens Headgate issues, and failed attempts.

-- One batch per user: a new batch voids the previous one. Its salt goes into the hash of each of its codes.
CREATE TABLE mfa_recovery_batches (
    org_id     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    batch_id   text COLLATE "C" NOT NULL,
    salt       bytea NOT NULL CHECK (octet_length(salt) = 16),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, user_id)
);
CALL isolate_organizations('mfa_recovery_batches', auditor_reads => false);
GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_recovery_batches TO headgate_api;

-- claimed_at: a verification has begun. used_at: it has ended, and the code is spent.
CREATE TABLE mfa_recovery_codes (
    org_id     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    batch_id   text COLLATE "C" NOT NULL,
    code_hash  bytea NOT NULL CHECK (octet_length(code_hash) = 32),
    claimed_at timestamptz,
    used_at    timestamptz,
    PRIMARY KEY (org_id, user_id, code_hash)
);
CALL isolate_organizations('mfa_recovery_codes', auditor_reads => false);
GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_recovery_codes TO headgate_api;

-- TOTP of the local issuer. The secret is in the vault. last_step: the time step of the last code used (RFC 6238, 5.2).
CREATE TABLE mfa_factors (
    org_id       text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'active')),
    last_step    bigint,
    created_at   timestamptz NOT NULL,
    activated_at timestamptz,
    PRIMARY KEY (org_id, user_id, status)
);
CALL isolate_organizations('mfa_factors', auditor_reads => false);
GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_factors TO headgate_api;

CREATE TABLE mfa_attempts (
    org_id       text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    attempted    text COLLATE "C" NOT NULL CHECK (attempted IN ('recovery_code', 'totp')),
    -- Wrong codes lock out their source; '' counts all sources together.
    source       text NOT NULL DEFAULT '' CHECK (length(source) <= 64),
    count        integer NOT NULL,
    began_at     timestamptz,
    locked_until timestamptz,
    lock_outs    integer NOT NULL,
    PRIMARY KEY (org_id, user_id, attempted, source)
);
CALL isolate_organizations('mfa_attempts', auditor_reads => false);
GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_attempts TO headgate_api;
