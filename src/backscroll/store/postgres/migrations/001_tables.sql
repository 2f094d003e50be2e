-- The rows of every organisation. Every key begins with the build: the index of one organisation, or one that is being
-- built beside it. Ids are those of the build; `builds` knows the highest that were given.

create domain ctext as text collate "C";

create table builds (
  id int generated always as identity primary key,
  org int not null,
  is_current boolean not null default false,
  created timestamptz not null default now(),
  last_file bigint not null default 0,
  last_record bigint not null default 0,
  last_block bigint not null default 0,
  last_chat bigint not null default 0,
  passages bigint not null default 0,
  words bigint not null default 0,
  has_parts boolean not null default false,
  changes bigint not null default 0
);
create unique index builds_current on builds (org) where is_current;
create index builds_org on builds (org);

-- The settings of a session: which build it is about, and what the asker may see. They have no default: without them,
-- every statement fails.
create function this_build() returns int language sql stable parallel safe
  as $$ select current_setting('backscroll.build')::int $$;
create function sees_all() returns boolean language sql stable parallel safe
  as $$ select current_setting('backscroll.homes') = 'all' $$;
create function visible_homes() returns table (machine text, home text) language sql stable parallel safe
  as $$ select h ->> 0, h ->> 1 from json_array_elements(
    case when current_setting('backscroll.homes') = 'all' then '[]' else current_setting('backscroll.homes') end::json) h $$;
create function visible_sources() returns setof text language sql stable parallel safe
  as $$ select json_array_elements_text(current_setting('backscroll.sources')::json) $$;

create table files (
  id bigint not null,
  source ctext not null,
  machine ctext not null,
  home ctext not null,
  path ctext not null,
  kind ctext not null,
  session ctext,
  agent ctext,
  chat bigint,
  project ctext,
  first_typed ctext not null default '',
  started bigint,
  last_active bigint,
  size bigint not null,
  archived boolean not null default false,
  bookmark ctext,
  state bytea,
  lines bigint not null default 0,
  modified bigint not null default 0,
  has_image boolean not null default false,
  has_thinking boolean not null default false,
  has_diff boolean not null default false,
  passages bigint not null default 0,
  build int not null default this_build(),
  primary key (build, id),
  unique (build, source)
);
create index files_chat on files (build, chat);
create index files_adopted on files (build, session) where kind = 'tool-result' and chat is null;
create index files_session on files (build, session);
create index files_agent on files (build, agent) where agent is not null;
create index files_home on files (build, machine, home);

create table chats (
  id bigint not null,
  name ctext not null,
  title ctext not null,
  project ctext,
  started bigint,
  last_active bigint,
  archived boolean not null default false,
  silent boolean not null default false,
  models ctext not null default '',
  git_branches ctext not null default '',
  files_touched ctext not null default '',
  tags ctext not null default '',
  machines ctext not null default '',
  branches bigint not null default 0,
  tokens bigint not null default 0,
  cost bigint,
  title_block bigint,
  title_file bigint,
  overview ctext not null,
  build int not null default this_build(),
  primary key (build, id)
);
create index chats_last_active on chats (build, last_active);
create index chats_name on chats (build, name);

create table records (
  id bigint not null,
  file bigint not null,
  number bigint not null,
  start bigint not null,
  length bigint not null,
  uuid ctext,
  parent ctext,
  kind ctext not null,
  time bigint,
  sidechain boolean not null default false,
  message ctext,
  model ctext,
  text ctext,
  forked_session ctext,
  forked_uuid ctext,
  original ctext,
  abandoned boolean not null default false,
  build int not null default this_build(),
  primary key (build, id)
);
create index records_file on records (build, file, number);
create index records_uuid on records (build, uuid) where uuid is not null;
create index records_message on records (build, message) where message is not null;
create index records_original on records (build, file, number) where original is not null;
create index records_abandoned on records (build, file, number) where abandoned;

create table blocks (
  id bigint not null,
  record bigint,
  number bigint not null,
  role ctext not null,
  call ctext,
  tool ctext,
  file ctext,
  detail ctext,
  state ctext,
  size bigint,
  digest bigint,
  has_image boolean not null default false,
  chat bigint,
  source_file bigint,
  build int not null default this_build(),
  primary key (build, id)
);
comment on column blocks.source_file is 'The file of its record; null for a title, which stands for its chat.';
create index blocks_record on blocks (build, record);
create index blocks_call on blocks (build, call) where call is not null;
create index blocks_file on blocks using hash (file); -- a path may be longer than a key of a tree

create table calls (
  id bigint not null,
  result bigint,
  file bigint not null,
  sidechain boolean not null,
  time bigint,
  took bigint,
  tool ctext,
  state ctext,
  size bigint,
  result_size bigint,
  build int not null default this_build(),
  primary key (build, id)
);
create index calls_file on calls (build, file);
create table shared_calls (call ctext not null, build int not null default this_build(), primary key (build, call));

create table counted (
  message ctext not null,
  file bigint not null,
  agent bigint not null,
  time bigint,
  model ctext,
  input bigint not null,
  output bigint not null,
  cache_write bigint not null,
  cache_read bigint not null,
  cache_write_5m bigint not null,
  cache_write_1h bigint not null,
  web_searches bigint not null,
  web_fetches bigint not null,
  tier ctext,
  speed ctext,
  geo ctext,
  final bigint not null,
  reported_cost bigint,
  version ctext,
  git_branch ctext,
  cost bigint,
  records bigint not null,
  files bigint not null,
  build int not null default this_build(),
  primary key (build, message)
);
create index counted_file on counted (build, file);

create table shared_answers (like counted including defaults, primary key (build, message, file));
create index shared_answers_file on shared_answers (build, file);

create table spent (
  quarter bigint not null,
  file bigint not null,
  agent bigint not null,
  model ctext not null,
  speed ctext not null,
  version ctext not null,
  git_branch ctext not null,
  messages bigint not null,
  input bigint not null,
  output bigint not null,
  cache_write bigint not null,
  cache_read bigint not null,
  cache_write_5m bigint not null,
  cache_write_1h bigint not null,
  web_searches bigint not null,
  web_fetches bigint not null,
  placeholders bigint not null,
  cost bigint not null,
  unpriced bigint not null,
  reported_cost bigint not null,
  records bigint not null,
  copies bigint not null,
  build int not null default this_build(),
  primary key (build, quarter, file, agent, model, speed, version, git_branch)
);
create index spent_file on spent (build, file);

create table problems (
  file bigint not null, line bigint not null, start bigint not null, kind ctext not null, detail ctext not null,
  build int not null default this_build()
);
create index problems_file on problems (build, file);

create table links (
  key ctext not null, file bigint not null, build int not null default this_build(), primary key (build, key, file)
);
create index links_file on links (build, file);

create table titles (
  row ctext not null, file bigint not null, title ctext not null, build int not null default this_build(),
  primary key (build, row, file)
);
create index titles_file on titles (build, file);

create table deleted (block bigint not null, build int not null default this_build(), primary key (build, block));
create table marks (
  name ctext not null, value ctext not null, build int not null default this_build(), primary key (build, name)
);

-- As SQLite has it, for a number in the JSON of an overview.
create function json_extract(data text, path text) returns numeric language sql immutable parallel safe
  as $$ select (data::json ->> substr(path, 3))::numeric $$;
