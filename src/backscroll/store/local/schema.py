"""The tables of the local store, and the views that users can query.

The tables may change from version to version; a file of another version is rebuilt. The views are documented and stay
the same.
"""

from typing import Final

from backscroll.records.tools import FILE_TOOLS

VERSION: Final = 24
"""Increased with every change to the tables or their content."""
APPLICATION: Final = 0x6273_6372  # "bscr"

ANSWER_COLUMNS: Final = """\
  file integer not null,
  agent integer not null,
  time integer,
  model text,
  input integer not null,
  output integer not null,
  cache_write integer not null,
  cache_read integer not null,
  cache_write_5m integer not null,
  cache_write_1h integer not null,
  web_searches integer not null,
  web_fetches integer not null,
  tier text,
  speed text,
  geo text,
  final integer not null,
  reported_cost integer,
  version text,
  git_branch text,
  cost integer,
  records integer not null,
  files integer not null"""
"""The columns of an answer that counts once, and of each copy of an answer that several files share."""

TABLES: Final = f"""
create table files (
  id integer primary key autoincrement,
  source text not null unique,
  machine text not null,
  home text not null,
  path text not null,
  kind text not null,
  session text,
  agent text,
  chat integer,
  project text,
  first_typed text not null default '',
  started integer,
  last_active integer,
  size integer not null,
  archived integer not null default 0,
  bookmark text,
  state blob,
  lines integer not null default 0,
  modified integer not null default 0,
  has_image integer not null default 0,
  has_thinking integer not null default 0,
  has_diff integer not null default 0
);
create index files_chat on files (chat);
create index files_adopted on files (session) where kind = 'tool-result' and chat is null;
create index files_session on files (session);
create index files_agent on files (agent) where agent is not null;
create index files_with_image on files (chat) where has_image;
create index files_with_thinking on files (chat) where has_thinking;
create index files_with_diff on files (chat) where has_diff;

create table chats (
  id integer primary key autoincrement,
  name text not null,
  title text not null,
  project text,
  started integer,
  last_active integer,
  archived integer not null default 0,
  silent integer not null default 0,
  models text not null default '',
  git_branches text not null default '',
  files_touched text not null default '',
  tags text not null default '',
  machines text not null default '',
  branches integer not null default 0,
  tokens integer not null default 0,
  cost integer,
  unrecorded_tokens integer not null default 0,
  unrecorded_cost integer,
  title_block integer,
  title_file integer,
  overview text not null
);
create index chats_last_active on chats (last_active);
create index chats_name on chats (name);

create table records (
  id integer primary key autoincrement,
  file integer not null,
  number integer not null,
  start integer not null,
  length integer not null,
  uuid text,
  parent text,
  kind text not null,
  time integer,
  sidechain integer not null default 0,
  message text,
  model text,
  text text,
  forked_session text,
  forked_uuid text,
  original text,
  abandoned integer not null default 0
);
create index records_file on records (file, number);
create index records_uuid on records (uuid) where uuid is not null;
create index records_message on records (message) where message is not null;
create index records_original on records (file, number) where original is not null;
create index records_abandoned on records (file, number) where abandoned;

create table blocks (
  id integer primary key autoincrement,
  record integer,
  number integer not null,
  role text not null,
  call text,
  tool text,
  file text,
  detail text,
  state text,
  size integer,
  digest integer,
  has_image integer not null default 0,
  chat integer
);
create index blocks_record on blocks (record);
create index blocks_call on blocks (call) where call is not null;
create index blocks_file on blocks (file) where file is not null;

create table calls (
  id integer primary key,
  result integer,
  file integer not null,
  sidechain integer not null,
  time integer,
  took integer,
  tool text,
  state text,
  size integer,
  result_size integer
);
create table shared_calls (call text primary key) without rowid;

create table counted (
  message text primary key,
{ANSWER_COLUMNS}
) without rowid;
create index counted_file on counted (file);

create table shared_answers (
  message text not null,
{ANSWER_COLUMNS},
  primary key (message, file)
) without rowid;
create index shared_answers_file on shared_answers (file);

create table spent (
  quarter integer not null,
  file integer not null,
  agent integer not null,
  model text not null,
  speed text not null,
  version text not null,
  git_branch text not null,
  messages integer not null,
  input integer not null,
  output integer not null,
  cache_write integer not null,
  cache_read integer not null,
  cache_write_5m integer not null,
  cache_write_1h integer not null,
  web_searches integer not null,
  web_fetches integer not null,
  placeholders integer not null,
  cost integer not null,
  unpriced integer not null,
  reported_cost integer not null,
  records integer not null,
  copies integer not null,
  primary key (quarter, file, agent, model, speed, version, git_branch)
) without rowid;
create index spent_file on spent (file);

create table client_totals (
  file integer not null,
  number integer not null,
  started integer not null,
  model text not null,
  input integer not null,
  output integer not null,
  cache_write integer not null,
  cache_read integer not null,
  cache_write_5m integer not null,
  cache_write_1h integer not null,
  web_searches integer not null,
  cost integer not null,
  primary key (file, number, model)
) without rowid;
create index client_totals_started on client_totals (started);

create table unrecorded (
  file integer not null,
  number integer not null,
  model text not null,
  started integer not null,
  quarter integer not null,
  input integer not null,
  output integer not null,
  cache_write integer not null,
  cache_read integer not null,
  cache_write_5m integer not null,
  cache_write_1h integer not null,
  web_searches integer not null,
  cost integer,
  primary key (file, number, model)
) without rowid;
create index unrecorded_started on unrecorded (started);

create table problems (file integer not null, line integer not null, start integer not null, kind text not null,
  detail text not null);
create index problems_file on problems (file);

create table links (key text not null, file integer not null, primary key (key, file)) without rowid;
create index links_file on links (file);

create table titles (row text not null, file integer not null, title text not null, primary key (row, file))
  without rowid;
create index titles_file on titles (file);

create table deleted (block integer primary key);
create table marks (name text primary key, value text not null) without rowid;
"""

CHANGING: Final = ", ".join(f"'{tool}'" for tool in sorted(FILE_TOOLS))
MOMENT: Final = "strftime('%Y-%m-%dT%H:%M:%fZ', {0} / 1000000.0, 'unixepoch')"


def _moment(column: str) -> str:
    return MOMENT.format(column)


# ROW_BEFORE of `batches`: most rows answer the row before them, and its uuid need not be stored twice.
PARENT: Final = """case when r.parent = '' then (select p.uuid from records p where p.file = r.file
  and p.number < r.number and p.kind <> 'outside' order by p.number desc limit 1) else r.parent end"""
VIEWS: Final = f"""
create view v_chats as
select id as chat, name as id, title, project, {_moment("started")} as started,
  {_moment("last_active")} as last_active, archived,
  json_extract(overview, '$.messages') as messages, json_extract(overview, '$.prompts') as prompts,
  json_extract(overview, '$.branches') as branches, json_extract(overview, '$.agents') as agents,
  json_extract(overview, '$.compactions') as compactions,
  json_extract(overview, '$.active_seconds') as active_seconds,
  tokens, cost / 1000.0 as cost_microdollars,
  unrecorded_tokens, unrecorded_cost / 1000.0 as unrecorded_cost_microdollars
from chats where not silent;

create view v_sessions as
select f.id as file, f.path, f.home, f.machine, f.kind, f.session, f.agent, f.chat, c.name as chat_id, f.project,
  {_moment("f.started")} as started, {_moment("f.last_active")} as last_active, f.size, f.archived
from files f left join chats c on c.id = f.chat
where f.kind in ('session', 'agent');

create view v_messages as
select r.id as record, coalesce(r.message, r.uuid) as message, r.uuid, {PARENT} as parent,
  c.name as chat_id, f.session, f.agent, f.project, r.kind, {_moment("r.time")} as time, r.model, r.sidechain,
  r.abandoned, f.path, r.start, r.length
from records r join files f on f.id = r.file left join chats c on c.id = f.chat;

create view v_tool_calls as
select i.call, i.tool, i.file, c.name as chat_id, f.session, f.agent, f.project, r.uuid,
  {_moment("r.time")} as time, i.size as input_size,
  case when o.id is null then null else o.state <> 'done' end as is_error,
  coalesce(o.state, 'missing') as state, o.size as output_size,
  (ro.time - r.time) / 1000000.0 as seconds
from blocks i
join records r on r.id = i.record
join files f on f.id = r.file
left join chats c on c.id = f.chat
left join blocks o on o.call = i.call and o.role = 'output'
  and o.id = (select x.id from blocks x join records y on y.id = x.record join files z on z.id = y.file
    where x.call = i.call and x.role = 'output' and y.uuid is not null
    order by y.time, z.agent is not null, z.source, y.number limit 1)
left join records ro on ro.id = o.record
where i.role = 'input'
  and i.id = (select x.id from blocks x join records y on y.id = x.record join files z on z.id = y.file
    where x.call = i.call and x.role = 'input' order by y.time, z.agent is not null, z.source, y.number limit 1);

create view v_usage as
select u.message, {_moment("u.time")} as time, u.model, c.name as chat_id, f.session, f.agent, f.project,
  u.version, u.git_branch, u.input as input_tokens, u.output as output_tokens,
  u.cache_write as cache_creation_input_tokens, u.cache_read as cache_read_input_tokens,
  u.cache_write_5m as cache_creation_5m, u.cache_write_1h as cache_creation_1h, u.web_searches, u.web_fetches,
  u.tier, u.speed, u.geo, u.final as is_final, u.cost / 1000.0 as cost_microdollars, u.records, u.files
from counted u join files f on f.id = u.file left join chats c on c.id = f.chat;

create view v_files_touched as
select b.file as path, b.tool, c.name as chat_id, f.project, r.uuid, {_moment("r.time")} as time
from blocks b join records r on r.id = b.record join files f on f.id = r.file left join chats c on c.id = f.chat
where b.file is not null and b.tool in ({CHANGING});

create view v_problems as
select f.path, p.line, p.start, p.kind, p.detail from problems p join files f on f.id = p.file;
"""  # noqa: S608 - no values in it
