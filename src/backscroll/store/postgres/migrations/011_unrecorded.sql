-- Requests without a record: the client's own totals, and what they have that no answer has.

create table client_totals (
  file bigint not null,
  number bigint not null,
  started bigint not null,
  model ctext not null,
  input bigint not null,
  output bigint not null,
  cache_write bigint not null,
  cache_read bigint not null,
  cache_write_5m bigint not null,
  cache_write_1h bigint not null,
  web_searches bigint not null,
  cost bigint not null,
  build int not null default this_build(),
  primary key (build, file, number, model)
);
create index client_totals_started on client_totals (build, started);

create table unrecorded (
  file bigint not null,
  number bigint not null,
  model ctext not null,
  started bigint not null,
  quarter bigint not null,
  input bigint not null,
  output bigint not null,
  cache_write bigint not null,
  cache_read bigint not null,
  cache_write_5m bigint not null,
  cache_write_1h bigint not null,
  web_searches bigint not null,
  cost bigint,
  build int not null default this_build(),
  primary key (build, file, number, model)
);
create index unrecorded_started on unrecorded (build, started);

do $$
declare
  name text;
begin
  foreach name in array array['client_totals', 'unrecorded'] loop
    execute format('alter table %I enable row level security, force row level security', name);
    execute format('create policy %I on %I to %I using (build = this_build()) with check (build = this_build())',
      name || '_owner', name, current_user);
  end loop;
end $$;
create policy unrecorded_reader on unrecorded for select to backscroll_reader
  using (build = this_build() and ((select sees_all()) or file in (select f.id from files f)));
grant select on unrecorded to backscroll_reader;

alter table chats add column unrecorded_tokens bigint not null default 0, add column unrecorded_cost bigint;
create or replace view shared_chats_rows with (security_invoker) as
select shared_id(build, id) as id, name, title, project, started, last_active, archived, silent, models, git_branches,
  files_touched, tags, machines, branches, tokens, cost, shared_id(build, title_block) as title_block,
  shared_id(build, title_file) as title_file, overview, build, id as raw_id, title_file as raw_title_file,
  unrecorded_tokens, unrecorded_cost
from chats;

create or replace view backscroll_sql.v_chats with (security_barrier) as
select id as chat, name as id, title, project, moment(started) as started, moment(last_active) as last_active, archived,
  json_extract(overview, '$.messages') as messages, json_extract(overview, '$.prompts') as prompts,
  json_extract(overview, '$.branches') as branches, json_extract(overview, '$.agents') as agents,
  json_extract(overview, '$.compactions') as compactions,
  json_extract(overview, '$.active_seconds') as active_seconds,
  tokens, cost / 1000.0 as cost_microdollars,
  unrecorded_tokens, unrecorded_cost / 1000.0 as unrecorded_cost_microdollars
from chats where build = (select sql_build()) and not silent;
