-- Sums over several people, for the pages of an organisation: only with the right to all that is in their builds, so
-- never in a search of what someone shares.
create policy spent_shared on spent for select to backscroll_shared
  using ((select sees_all()) and build in (select unnest(shared_builds())));
grant select on spent to backscroll_shared;
