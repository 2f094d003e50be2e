-- Prepares a PostgreSQL for the team server, once, as a superuser. psql reads the password from DATABASE_PASSWORD:
--   DATABASE_PASSWORD=… psql --set ON_ERROR_STOP=1 --file prepare.sql postgresql://postgres@db.example.org/postgres

\getenv password DATABASE_PASSWORD

create role backscroll login nosuperuser nobypassrls nocreatedb nocreaterole password :'password';
create role backscroll_reader nologin nosuperuser nobypassrls nocreatedb nocreaterole;
-- Since 16 a role that was granted can be left out of one's own rights.
select current_setting('server_version_num')::int >= 160000 as has_options \gset
\if :has_options
grant backscroll_reader to backscroll with inherit false, set true;
\else
grant backscroll_reader to backscroll;
\endif
create database backscroll owner backscroll encoding 'UTF8' locale 'C.UTF-8' template template0;

\connect backscroll

create extension btree_gin;
create extension pg_trgm;

-- What a statement of a person could change its rights with, block others with, or store something with.
revoke execute on function
  pg_catalog.set_config(text, text, boolean),
  pg_catalog.pg_notify(text, text),
  pg_catalog.pg_advisory_lock(bigint),
  pg_catalog.pg_advisory_lock(int, int),
  pg_catalog.pg_advisory_lock_shared(bigint),
  pg_catalog.pg_advisory_lock_shared(int, int),
  pg_catalog.pg_advisory_xact_lock(bigint),
  pg_catalog.pg_advisory_xact_lock(int, int),
  pg_catalog.pg_advisory_xact_lock_shared(bigint),
  pg_catalog.pg_advisory_xact_lock_shared(int, int),
  pg_catalog.pg_try_advisory_lock(bigint),
  pg_catalog.pg_try_advisory_lock(int, int),
  pg_catalog.pg_try_advisory_lock_shared(bigint),
  pg_catalog.pg_try_advisory_lock_shared(int, int),
  pg_catalog.pg_try_advisory_xact_lock(bigint),
  pg_catalog.pg_try_advisory_xact_lock(int, int),
  pg_catalog.pg_try_advisory_xact_lock_shared(bigint),
  pg_catalog.pg_try_advisory_xact_lock_shared(int, int),
  pg_catalog.lo_creat(int),
  pg_catalog.lo_create(oid),
  pg_catalog.lo_from_bytea(oid, bytea)
from public;
grant execute on function
  pg_catalog.set_config(text, text, boolean),
  pg_catalog.pg_notify(text, text),
  pg_catalog.pg_advisory_lock(bigint),
  pg_catalog.pg_advisory_lock(int, int),
  pg_catalog.pg_advisory_lock_shared(bigint),
  pg_catalog.pg_advisory_lock_shared(int, int),
  pg_catalog.pg_advisory_xact_lock(bigint),
  pg_catalog.pg_advisory_xact_lock(int, int),
  pg_catalog.pg_advisory_xact_lock_shared(bigint),
  pg_catalog.pg_advisory_xact_lock_shared(int, int),
  pg_catalog.pg_try_advisory_lock(bigint),
  pg_catalog.pg_try_advisory_lock(int, int),
  pg_catalog.pg_try_advisory_lock_shared(bigint),
  pg_catalog.pg_try_advisory_lock_shared(int, int),
  pg_catalog.pg_try_advisory_xact_lock(bigint),
  pg_catalog.pg_try_advisory_xact_lock(int, int),
  pg_catalog.pg_try_advisory_xact_lock_shared(bigint),
  pg_catalog.pg_try_advisory_xact_lock_shared(int, int),
  pg_catalog.lo_creat(int),
  pg_catalog.lo_create(oid),
  pg_catalog.lo_from_bytea(oid, bytea)
to backscroll;
