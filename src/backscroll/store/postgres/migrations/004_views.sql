-- What users can query. The views are documented and stay the same; they read with the rights of who asks.

create function moment(microseconds bigint) returns text language sql immutable parallel safe
  as $$ select to_char(to_timestamp(microseconds / 1000000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;
grant execute on function moment(bigint) to backscroll_reader;

create view v_chats with (security_invoker) as
select id as chat, name as id, title, project, moment(started) as started, moment(last_active) as last_active, archived,
  json_extract(overview, '$.messages') as messages, json_extract(overview, '$.prompts') as prompts,
  json_extract(overview, '$.branches') as branches, json_extract(overview, '$.agents') as agents,
  json_extract(overview, '$.compactions') as compactions,
  json_extract(overview, '$.active_seconds') as active_seconds,
  tokens, cost / 1000.0 as cost_microdollars
from chats where not silent;

create view v_sessions with (security_invoker) as
select f.id as file, f.path, f.home, f.machine, f.kind, f.session, f.agent, f.chat, c.name as chat_id, f.project,
  moment(f.started) as started, moment(f.last_active) as last_active, f.size, f.archived
from files f left join chats c on c.id = f.chat
where f.kind in ('session', 'agent');

create view v_messages with (security_invoker) as
select r.id as record, coalesce(r.message, r.uuid) as message, r.uuid,
  case when r.parent = '' then (select p.uuid from records p where p.file = r.file and p.number < r.number
    and p.kind <> 'outside' order by p.number desc limit 1) else r.parent end as parent,
  c.name as chat_id, f.session, f.agent, f.project, r.kind, moment(r.time) as time, r.model, r.sidechain,
  r.abandoned, f.path, r.start, r.length
from records r join files f on f.id = r.file left join chats c on c.id = f.chat;

create view v_tool_calls with (security_invoker) as
with inputs as (
  select b.*, row_number() over (partition by b.call
    order by r.time nulls first, f.agent is not null, f.source, r.number) as place
  from blocks b join records r on r.id = b.record join files f on f.id = r.file where b.role = 'input'
), outputs as (
  select b.*, r.time, row_number() over (partition by b.call
    order by r.time nulls first, f.agent is not null, f.source, r.number) as place
  from blocks b join records r on r.id = b.record join files f on f.id = r.file
  where b.role = 'output' and r.uuid is not null
)
select i.call, i.tool, i.file, c.name as chat_id, f.session, f.agent, f.project, r.uuid, moment(r.time) as time,
  i.size as input_size, case when o.id is null then null else o.state <> 'done' end as is_error,
  coalesce(o.state, 'missing') as state, o.size as output_size, (o.time - r.time) / 1000000.0 as seconds
from inputs i join records r on r.id = i.record join files f on f.id = r.file left join chats c on c.id = f.chat
left join outputs o on o.call = i.call and o.place = 1
where i.place = 1 and i.call is not null;

create view v_usage with (security_invoker) as
select u.message, moment(u.time) as time, u.model, c.name as chat_id, f.session, f.agent, f.project,
  u.version, u.git_branch, u.input as input_tokens, u.output as output_tokens,
  u.cache_write as cache_creation_input_tokens, u.cache_read as cache_read_input_tokens,
  u.cache_write_5m as cache_creation_5m, u.cache_write_1h as cache_creation_1h, u.web_searches, u.web_fetches,
  u.tier, u.speed, u.geo, u.final as is_final, u.cost / 1000.0 as cost_microdollars, u.records, u.files
from counted u join files f on f.id = u.file left join chats c on c.id = f.chat;

create view v_files_touched with (security_invoker) as
select b.file as path, b.tool, c.name as chat_id, f.project, r.uuid, moment(r.time) as time
from blocks b join records r on r.id = b.record join files f on f.id = r.file left join chats c on c.id = f.chat
where b.file is not null and b.tool in ('Edit', 'MultiEdit', 'NotebookEdit', 'Write');

create view v_problems with (security_invoker) as
select f.path, p.line, p.start, p.kind, p.detail from problems p join files f on f.id = p.file;

grant select on v_chats, v_sessions, v_messages, v_tool_calls, v_usage, v_files_touched, v_problems to backscroll_reader;
