-- Sums over several people, for the pages of an organisation: only with the right to all that is in their builds, so
-- never in a search of what someone shares.
create policy spent_shared on spent for select to backscroll_shared
  using ((select sees_all()) and build in (select unnest(shared_builds())));
grant select on spent to backscroll_shared;

-- Whether someone sees all of a build is looked up once for a statement, not for each row.
do $$
declare
  name text;
begin
  foreach name in array array['records', 'calls', 'counted', 'shared_answers', 'spent', 'problems', 'links', 'titles'] loop
    execute format('alter policy %I on %I
      using (build = this_build() and ((select sees_all()) or file in (select f.id from files f)))', name || '_reader', name);
  end loop;
end $$;
alter policy files_reader on files using (build = this_build() and ((select sees_all())
  or (machine, home) in (select * from visible_homes()) or source in (select * from visible_sources())));
alter policy chats_reader on chats using (build = this_build() and ((select sees_all())
  or id in (select f.chat from files f where f.kind <> 'tool-result')));
alter policy blocks_reader on blocks using (build = this_build() and ((select sees_all())
  or source_file in (select f.id from files f)
  or source_file is null and chat in (select c.id from chats c where c.title_file in (select f.id from files f))));
