-- Prepares a PostgreSQL for the team server, as a superuser; again after an update that needs more. psql reads the passwords
-- from the environment:
--   DATABASE_PASSWORD=… WEB_PASSWORD=… SQL_PASSWORD=… psql --set ON_ERROR_STOP=1 --file prepare.sql postgresql://postgres@db.example.org/postgres
-- `backscroll server web` connects as backscroll_web, which changes no tables, everything else as backscroll, which owns
-- them. backscroll_sql runs people's own SQL. Those without a password cannot log in with one until they are given one.

\getenv password DATABASE_PASSWORD
\getenv web_password WEB_PASSWORD
\getenv sql_password SQL_PASSWORD

select 'create role backscroll login nosuperuser nobypassrls nocreatedb nocreaterole'
  where not exists (select from pg_roles where rolname = 'backscroll') \gexec
select 'create role backscroll_reader nologin nosuperuser nobypassrls nocreatedb nocreaterole'
  where not exists (select from pg_roles where rolname = 'backscroll_reader') \gexec
select 'create role backscroll_shared nologin nosuperuser nobypassrls nocreatedb nocreaterole'
  where not exists (select from pg_roles where rolname = 'backscroll_shared') \gexec
select 'create role backscroll_web login nosuperuser nobypassrls nocreatedb nocreaterole'
  where not exists (select from pg_roles where rolname = 'backscroll_web') \gexec
\if :{?password}
alter role backscroll password :'password';
\endif
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
select 'create database backscroll owner backscroll encoding ''UTF8'' locale ''C.UTF-8'' template template0'
  where not exists (select from pg_database where datname = 'backscroll') \gexec

\connect backscroll

create extension if not exists btree_gin;
create extension if not exists pg_trgm;

-- What follows is printed by `backscroll server sql-login`.

-- The login that runs people's own SQL. It reads the documented views and nothing else: what PostgreSQL lets everyone
-- do besides is taken from everyone in this database, and given to the roles of the server and to pg_monitor.
do $$
declare
  exposed record;
begin
  if not exists (select from pg_roles where rolname = 'backscroll_sql') then
    create role backscroll_sql login nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
  alter role backscroll_sql noinherit noreplication connection limit 24;
  alter role backscroll_sql reset all;
  alter role backscroll_sql set temp_file_limit = '1GB';
  for exposed in select kind, name, taken, given from (
    select 'routine' as kind, 'execute' as taken, 'execute' as given,
      format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as name
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where (p.provolatile = 'v' and p.proname not in ('array_sample', 'array_shuffle', 'clock_timestamp', 'gen_random_uuid', 'random', 'random_normal', 'timeofday', 'uuidv4', 'uuidv7')
        or p.provolatile = 's' and format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) ~ '^(pg_|has_|txid_|inet_(client|server)_|row_security_active|mxid_age)|_to_xml|^age\(xid\)'
          and p.proname not in ('pg_char_to_encoding', 'pg_client_encoding', 'pg_collation_for', 'pg_column_size', 'pg_encoding_to_char', 'pg_input_error_info', 'pg_input_is_valid', 'pg_typeof'))
      and not 'internal'::regtype = any(p.proargtypes)
      and p.prorettype not in ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype,
        'language_handler'::regtype, 'fdw_handler'::regtype, 'index_am_handler'::regtype, 'table_am_handler'::regtype,
        'tsm_handler'::regtype)
      and n.nspname <> 'backscroll_sql'
      and has_schema_privilege('backscroll_sql', n.oid, 'usage') and has_function_privilege('backscroll_sql', p.oid, 'execute')
    union all
    select 'table', 'all', case when has_table_privilege('backscroll_sql', c.oid, 'select') then 'select' end,
      format('%I.%I', n.nspname, c.relname)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'v', 'm', 'f', 'p', 'S') and n.nspname <> 'backscroll_sql'
      and (has_table_privilege('backscroll_sql', c.oid, 'select, insert, update, delete, truncate, references, trigger')
        or has_any_column_privilege('backscroll_sql', c.oid, 'select, insert, update, references'))
    union all
    select 'language', 'usage', 'usage', quote_ident(lanname) from pg_language
    where lanname <> 'sql' and lanpltrusted and has_language_privilege('backscroll_sql', oid, 'usage')
    union all
    select 'schema', 'create', null, quote_ident(nspname) from pg_namespace
    where has_schema_privilege('backscroll_sql', oid, 'create')
    union all
    select 'database', taken, null, quote_ident(current_database()) from unnest(array['create', 'temporary']) taken
    where has_database_privilege('backscroll_sql', current_database(), taken)
  ) exposed
  loop
    execute format('revoke %s on %s %s from public, backscroll_sql', exposed.taken, exposed.kind, exposed.name);
    if exposed.given is not null then
      execute format('grant %s on %s %s to backscroll, backscroll_web, pg_monitor', exposed.given, exposed.kind, exposed.name);
    end if;
  end loop;
end
$$;

\if :{?sql_password}
alter role backscroll_sql password :'sql_password';
\endif
