-- Prepares a PostgreSQL for the team server, once, as a superuser. psql reads the passwords from the environment:
--   DATABASE_PASSWORD=… WEB_PASSWORD=… psql --set ON_ERROR_STOP=1 --file prepare.sql postgresql://postgres@db.example.org/postgres
-- `backscroll server web` connects as backscroll_web, which changes no tables, everything else as backscroll, which owns
-- them. Without WEB_PASSWORD, backscroll_web cannot log in with a password until it is given one.

\getenv password DATABASE_PASSWORD
\getenv web_password WEB_PASSWORD

create role backscroll login nosuperuser nobypassrls nocreatedb nocreaterole password :'password';
create role backscroll_reader nologin nosuperuser nobypassrls nocreatedb nocreaterole;
create role backscroll_shared nologin nosuperuser nobypassrls nocreatedb nocreaterole;
create role backscroll_web login nosuperuser nobypassrls nocreatedb nocreaterole;
\if :{?web_password}
alter role backscroll_web password :'web_password';
\endif
-- Who becomes a reader must not have its rights before: its policies would hold too. Since 16 a grant says so.
select current_setting('server_version_num')::int >= 160000 as has_options \gset
\if :has_options
grant backscroll_reader, backscroll_shared to backscroll, backscroll_web with inherit false, set true;
\else
alter role backscroll noinherit;
alter role backscroll_web noinherit;
grant backscroll_reader, backscroll_shared to backscroll, backscroll_web;
\endif
create database backscroll owner backscroll encoding 'UTF8' locale 'C.UTF-8' template template0;

\connect backscroll

create extension btree_gin;
create extension pg_trgm;

-- Only the server may call these: with them a user's statement could change its rights, block others, or store data.
do $$
declare
  functions constant text[] := array[
    'set_config(text, text, boolean)',
    'pg_notify(text, text)',
    'pg_advisory_lock(bigint)',
    'pg_advisory_lock(int, int)',
    'pg_advisory_lock_shared(bigint)',
    'pg_advisory_lock_shared(int, int)',
    'pg_advisory_xact_lock(bigint)',
    'pg_advisory_xact_lock(int, int)',
    'pg_advisory_xact_lock_shared(bigint)',
    'pg_advisory_xact_lock_shared(int, int)',
    'pg_try_advisory_lock(bigint)',
    'pg_try_advisory_lock(int, int)',
    'pg_try_advisory_lock_shared(bigint)',
    'pg_try_advisory_lock_shared(int, int)',
    'pg_try_advisory_xact_lock(bigint)',
    'pg_try_advisory_xact_lock(int, int)',
    'pg_try_advisory_xact_lock_shared(bigint)',
    'pg_try_advisory_xact_lock_shared(int, int)',
    'lo_creat(int)',
    'lo_create(oid)',
    'lo_from_bytea(oid, bytea)'
  ];
  function text;
begin
  foreach function in array functions loop
    execute format('revoke execute on function pg_catalog.%s from public', function);
    execute format('grant execute on function pg_catalog.%s to backscroll, backscroll_web', function);
  end loop;
end
$$;
