-- People's own SQL runs as the login backscroll_sql, which may read the views of this schema and nothing else. Which build
-- it reads is written down by the server, on a connection of its own, for the process that runs the statement: no
-- statement can change that. Lost in a crash, together with the processes.

create unlogged table sql_sessions (
  number bigint generated always as identity primary key,
  build int not null,
  process int unique,
  ends timestamptz not null
);
comment on table sql_sessions is 'The statements of people that run now, each in a process of PostgreSQL.';
comment on column sql_sessions.ends is 'From then on it reads nothing any more.';

create function sql_build() returns int language sql stable parallel restricted security definer
  set search_path = pg_catalog, pg_temp
  as $$ select build from backscroll.sql_sessions where process = pg_backend_pid() and ends > clock_timestamp() $$;
revoke execute on function sql_build() from public;

-- The views are documented and stay the same. They read with the rights of their owner, for whom row-level security asks
-- for the setting `backscroll.build` as well; and no condition of a statement is applied to rows that it does not see.
drop view v_chats, v_sessions, v_messages, v_tool_calls, v_usage, v_files_touched, v_problems;
create schema backscroll_sql;

create view backscroll_sql.v_chats with (security_barrier) as
select id as chat, name as id, title, project, moment(started) as started, moment(last_active) as last_active, archived,
  json_extract(overview, '$.messages') as messages, json_extract(overview, '$.prompts') as prompts,
  json_extract(overview, '$.branches') as branches, json_extract(overview, '$.agents') as agents,
  json_extract(overview, '$.compactions') as compactions,
  json_extract(overview, '$.active_seconds') as active_seconds,
  tokens, cost / 1000.0 as cost_microdollars
from chats where build = (select sql_build()) and not silent;

create view backscroll_sql.v_sessions with (security_barrier) as
select f.id as file, f.path, f.home, f.machine, f.kind, f.session, f.agent, f.chat, c.name as chat_id, f.project,
  moment(f.started) as started, moment(f.last_active) as last_active, f.size, f.archived
from files f left join chats c on c.build = f.build and c.id = f.chat
where f.build = (select sql_build()) and f.kind in ('session', 'agent');

create view backscroll_sql.v_messages with (security_barrier) as
select r.id as record, coalesce(r.message, r.uuid) as message, r.uuid,
  case when r.parent = '' then (select p.uuid from records p where p.build = r.build and p.file = r.file
    and p.number < r.number and p.kind <> 'outside' order by p.number desc limit 1) else r.parent end as parent,
  c.name as chat_id, f.session, f.agent, f.project, r.kind, moment(r.time) as time, r.model, r.sidechain,
  r.abandoned, f.path, r.start, r.length
from records r join files f on f.build = r.build and f.id = r.file
  left join chats c on c.build = f.build and c.id = f.chat
where r.build = (select sql_build());

create view backscroll_sql.v_tool_calls with (security_barrier) as
with inputs as (
  select b.*, row_number() over (partition by b.call
    order by r.time nulls first, f.agent is not null, f.source, r.number) as place
  from blocks b join records r on r.build = b.build and r.id = b.record join files f on f.build = r.build and f.id = r.file
  where b.build = (select sql_build()) and b.role = 'input'
), outputs as (
  select b.*, r.time, row_number() over (partition by b.call
    order by r.time nulls first, f.agent is not null, f.source, r.number) as place
  from blocks b join records r on r.build = b.build and r.id = b.record join files f on f.build = r.build and f.id = r.file
  where b.build = (select sql_build()) and b.role = 'output' and r.uuid is not null
)
select i.call, i.tool, i.file, c.name as chat_id, f.session, f.agent, f.project, r.uuid, moment(r.time) as time,
  i.size as input_size, case when o.id is null then null else o.state <> 'done' end as is_error,
  coalesce(o.state, 'missing') as state, o.size as output_size, (o.time - r.time) / 1000000.0 as seconds
from inputs i join records r on r.build = i.build and r.id = i.record join files f on f.build = r.build and f.id = r.file
  left join chats c on c.build = f.build and c.id = f.chat
  left join outputs o on o.call = i.call and o.place = 1
where i.place = 1 and i.call is not null;

create view backscroll_sql.v_usage with (security_barrier) as
select u.message, moment(u.time) as time, u.model, c.name as chat_id, f.session, f.agent, f.project,
  u.version, u.git_branch, u.input as input_tokens, u.output as output_tokens,
  u.cache_write as cache_creation_input_tokens, u.cache_read as cache_read_input_tokens,
  u.cache_write_5m as cache_creation_5m, u.cache_write_1h as cache_creation_1h, u.web_searches, u.web_fetches,
  u.tier, u.speed, u.geo, u.final as is_final, u.cost / 1000.0 as cost_microdollars, u.records, u.files
from counted u join files f on f.build = u.build and f.id = u.file
  left join chats c on c.build = f.build and c.id = f.chat
where u.build = (select sql_build());

create view backscroll_sql.v_files_touched with (security_barrier) as
select b.file as path, b.tool, c.name as chat_id, f.project, r.uuid, moment(r.time) as time
from blocks b join records r on r.build = b.build and r.id = b.record join files f on f.build = r.build and f.id = r.file
  left join chats c on c.build = f.build and c.id = f.chat
where b.build = (select sql_build()) and b.file is not null
  and b.tool in ('Edit', 'MultiEdit', 'NotebookEdit', 'Write');

create view backscroll_sql.v_problems with (security_barrier) as
select f.path, p.line, p.start, p.kind, p.detail from problems p join files f on f.build = p.build and f.id = p.file
where p.build = (select sql_build());

-- The rows of a query of a person, as texts: at most so many, until one is too large or all of them are. A message of an
-- error may hold a whole value; it is cut, so that the server never has to take it. The query stands inside one of ours
-- and is opened as a cursor, which takes exactly one.
create function backscroll_sql.run(query text, columns int, most_rows bigint, largest_row int, most_bytes bigint)
returns setof text[] language plpgsql as $$
declare
  answer refcursor;
  line text[];
  taken bigint := 0;
begin
  open answer no scroll for execute format(
    E'select array[%s] from (\n%s\n) as statement (%s) limit %s',
    (select string_agg(format('c%s::text', n), ', ' order by n) from generate_series(1, columns) n),
    query,
    (select string_agg(format('c%s', n), ', ' order by n) from generate_series(1, columns) n),
    most_rows);
  loop
    fetch answer into line;
    exit when not found or taken > most_bytes;
    taken := taken + pg_column_size(line);
    if pg_column_size(line) > largest_row then
      raise program_limit_exceeded using message = 'a row of the result is too large';
    end if;
    return next line;
  end loop;
exception when others then
  raise exception using errcode = sqlstate, message = left(sqlerrm, 300);
end
$$;
revoke execute on function backscroll_sql.run(text, int, bigint, int, bigint) from public;
