-- Who sees which rows. The owner writes one build at a time; the reader sees of it what the settings of its session allow.

do $$
declare
  name text;
begin
  foreach name in array array['files', 'chats', 'records', 'blocks', 'calls', 'shared_calls', 'counted',
    'shared_answers', 'spent', 'problems', 'links', 'titles', 'deleted', 'marks'] loop
    execute format('alter table %I enable row level security, force row level security', name);
    execute format('create policy %I on %I to %I using (build = this_build()) with check (build = this_build())',
      name || '_owner', name, current_user);
  end loop;
  foreach name in array array['records', 'calls', 'counted', 'shared_answers', 'spent', 'problems', 'links', 'titles'] loop
    execute format('create policy %I on %I for select to backscroll_reader
      using (build = this_build() and (sees_all() or file in (select f.id from files f)))', name || '_reader', name);
  end loop;
end $$;

create policy files_reader on files for select to backscroll_reader using (build = this_build() and (
  sees_all() or (machine, home) in (select * from visible_homes()) or source in (select * from visible_sources())));
create policy chats_reader on chats for select to backscroll_reader
  using (build = this_build() and (sees_all() or id in (select f.chat from files f)));
create policy blocks_reader on blocks for select to backscroll_reader
  using (build = this_build() and (sees_all() or source_file in (select f.id from files f)
    or source_file is null and chat in (select c.id from chats c where c.title_file in (select f.id from files f))));
create policy shared_calls_reader on shared_calls for select to backscroll_reader using (build = this_build());
create policy marks_reader on marks for select to backscroll_reader using (build = this_build());

alter table builds enable row level security;
create policy builds_reader on builds for select to backscroll_reader using (id = this_build());

grant usage on schema backscroll to backscroll_reader;
grant select on files, chats, records, blocks, calls, shared_calls, counted, shared_answers, spent, problems, links, titles,
  marks, builds to backscroll_reader;
revoke execute on all functions in schema backscroll from public;
grant execute on function this_build(), sees_all(), visible_homes(), visible_sources(), json_extract(text, text),
  found(tsquery), found(), found(bigint[]), frequency(tsquery, int), visible_frequency(tsquery, int), known_words(text[]), words_from(text, text, int), words_with(text)
  to backscroll_reader;
