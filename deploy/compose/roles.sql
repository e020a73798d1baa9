-- Run once, when the database is created, by psql in PostgreSQL's image: the owner of the schema, and a login for each
-- part. The owner is no superuser (docs/decisions/0003-database-roles.md). headgate migrate creates the other roles.
\set ON_ERROR_STOP on
SET password_encryption = 'scram-sha-256';
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
\ir role-passwords.psql
CREATE ROLE headgate_owner LOGIN NOSUPERUSER NOBYPASSRLS CREATEROLE PASSWORD :'owner_password';
CREATE ROLE headgate_api LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'api_password';
CREATE ROLE headgate_proxy LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'proxy_password';
CREATE ROLE headgate_worker LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'worker_password';
CREATE DATABASE headgate OWNER headgate_owner;
REVOKE CONNECT, TEMPORARY ON DATABASE headgate FROM PUBLIC;
GRANT CONNECT ON DATABASE headgate TO headgate_api, headgate_proxy, headgate_worker;
