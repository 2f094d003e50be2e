-- What others share with the asker: files of several builds, read as if they were one. Besides the build that a session
-- is about, a setting names their builds, and then each file with its build and chat; without it there are none. An id
-- among them has the number of its build in front.

create function shared_files() returns table (build int, file bigint, chat bigint) language sql stable parallel safe rows 100
  as $$ select * from unnest(
    split_part(current_setting('backscroll.shared', true), ' ', 2)::int[],
    split_part(current_setting('backscroll.shared', true), ' ', 3)::bigint[],
    split_part(current_setting('backscroll.shared', true), ' ', 4)::bigint[]) $$;
create function shared_builds() returns int[] language sql stable parallel safe
  as $$ select coalesce(split_part(current_setting('backscroll.shared', true), ' ', 1)::int[], '{}') $$;
create function visible_builds() returns int[] language sql stable parallel safe
  as $$ select this_build() || shared_builds() $$;
create function shared_id(build int, id bigint) returns bigint language sql immutable parallel safe
  as $$ select (build::bigint << 40) + id $$;

alter table builds add column content int not null default 0;
comment on column builds.content is 'By which rules its words were made. A worker builds it anew if there are newer ones.';

-- A role of its own reads them: a policy for one build is an equality, from which PostgreSQL knows much for its plans, and one
-- for several is not.
do $$ begin
  if not exists (select 1 from pg_roles where rolname = 'backscroll_shared') then
    raise exception 'the role backscroll_shared is missing: create and grant it as deploy/postgres/prepare.sql does';
  end if;
end $$;
create policy files_shared on files for select to backscroll_shared using (build = any(shared_builds())
  and (sees_all() or (build, id) in (select s.build, s.file from shared_files() s)));
create policy chats_shared on chats for select to backscroll_shared using (build = any(shared_builds())
  and (sees_all() or (build, id) in (select s.build, s.chat from shared_files() s)));
create policy records_shared on records for select to backscroll_shared using (build = any(shared_builds())
  and (build, file) in (select s.build, s.file from shared_files() s));
create policy blocks_shared on blocks for select to backscroll_shared using (build = any(shared_builds())
  and ((build, source_file) in (select s.build, s.file from shared_files() s)
    or source_file is null and (build, chat) in (select s.build, s.chat from shared_files() s)));
create policy marks_shared on marks for select to backscroll_shared using (build = any(shared_builds()));
create policy builds_shared on builds for select to backscroll_shared using (id = any(shared_builds()));

-- The rows of shared files. `raw_…` are the ids in their own build: the indexes know these.
create view shared_files_rows with (security_invoker) as
select shared_id(build, id) as id, source, machine, home, path, kind, session, agent, shared_id(build, chat) as chat, project,
  first_typed, started, last_active, size, archived, bookmark, lines, modified, has_image, has_thinking, has_diff,
  passages, build, id as raw_id, chat as raw_chat
from files;
create view shared_chats_rows with (security_invoker) as
select shared_id(build, id) as id, name, title, project, started, last_active, archived, silent, models, git_branches,
  files_touched, tags, machines, branches, tokens, cost, shared_id(build, title_block) as title_block,
  shared_id(build, title_file) as title_file, overview, build, id as raw_id, title_file as raw_title_file
from chats;
create view shared_records_rows with (security_invoker) as
select shared_id(build, id) as id, shared_id(build, file) as file, number, start, length, uuid, parent, kind, time, sidechain,
  message, model, text, forked_session, forked_uuid, original, abandoned, build, id as raw_id, file as raw_file
from records;
create view shared_blocks_rows with (security_invoker) as
select shared_id(build, id) as id, shared_id(build, record) as record, number, role, call, tool, file, detail, state, size,
  digest, has_image, shared_id(build, chat) as chat, shared_id(build, source_file) as source_file, build,
  id as raw_id, record as raw_record, chat as raw_chat, source_file as raw_source_file
from blocks;

create or replace function known_words(given text[]) returns setof text
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select distinct l.word from lexicon l where l.build = any(visible_builds()) and l.word = any(given)
$$;
create or replace function words_from(first text, last text, most int) returns setof text
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select distinct w.word from unnest(visible_builds()) b(build)
    cross join lateral (select l.word from lexicon l where l.build = b.build and l.word >= first and l.word < last
      order by 1 limit most) w
  order by 1 limit most
$$;
create or replace function words_with(letters text) returns setof text
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select distinct l.word from lexicon l where l.build = any(visible_builds()) and l.word like '%' || letters || '%'
$$;

revoke execute on function shared_files(), shared_builds(), visible_builds(), shared_id(int, bigint) from public;
grant execute on function shared_files(), shared_builds(), visible_builds(), shared_id(int, bigint) to backscroll_reader;
grant usage on schema backscroll to backscroll_shared;
grant select on files, chats, records, blocks, marks, builds, shared_files_rows, shared_chats_rows, shared_records_rows,
  shared_blocks_rows to backscroll_shared;
grant execute on function this_build(), sees_all(), visible_homes(), visible_sources(), json_extract(text, text),
  known_words(text[]), words_from(text, text, int), words_with(text), shared_files(), shared_builds(), visible_builds(),
  shared_id(int, bigint) to backscroll_shared;
