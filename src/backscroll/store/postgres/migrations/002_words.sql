-- Which passages have which words. No role but the owner may read these tables: row-level security would keep PostgreSQL
-- from using the index (`@@` is not leakproof). The functions below are the only way in, and they take the rights from
-- the settings of the session.

create table words (
  block bigint not null,
  part int not null default 0,
  file bigint not null,
  time bigint not null,
  weight real not null,
  length int not null,
  facts text[] not null,
  tsv tsvector not null,
  build int not null default this_build(),
  primary key (build, block, part)
);
comment on column words.part is 'A passage with more words than a tsvector has places is cut into several.';
do $$ begin
  alter table words alter tsv set compression lz4; -- faster, where PostgreSQL was built with it
exception when feature_not_supported then null;
end $$;
alter table words alter tsv set statistics 0; -- which words are looked for is never known when a plan is made
-- `build + 0` stands in no other index, and below it is never set equal to the build of another table: the planner thinks
-- too well of reading all passages of a build.
create index words_tsv on words using gin ((build + 0), tsv) with (gin_pending_list_limit = 1024);

create table lexicon (word ctext not null, build int not null default this_build(), primary key (build, word));
create index lexicon_parts on lexicon using gin (word gin_trgm_ops);

-- The passages that match, with their chats.
create function found(query tsquery)
returns table (block bigint, part int, file bigint, chat bigint, "time" bigint, weight real, length int, facts text[],
  tsv tsvector)
language sql stable security definer rows 5000 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select w.block, w.part, w.file, f.chat, w.time, w.weight, w.length, w.facts, w.tsv
  from words w join files f on f.build = this_build() and f.id = w.file
    join chats c on c.build = this_build() and c.id = f.chat
  where w.build + 0 = this_build() and not c.silent and w.tsv @@ query
    and (sees_all() or (f.machine, f.home) in (select * from visible_homes())
      or f.source in (select * from visible_sources()))
$$;

create function found()
returns table (block bigint, part int, file bigint, chat bigint, "time" bigint, weight real, length int, facts text[],
  tsv tsvector)
language sql stable security definer rows 5000 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select w.block, w.part, w.file, f.chat, w.time, w.weight, w.length, w.facts, w.tsv
  from words w join files f on f.build = this_build() and f.id = w.file
    join chats c on c.build = this_build() and c.id = f.chat
  where w.build + 0 = this_build() and not c.silent
    and (sees_all() or (f.machine, f.home) in (select * from visible_homes())
      or f.source in (select * from visible_sources()))
$$;

create function found(blocks bigint[])
returns table (block bigint, part int, file bigint, chat bigint, "time" bigint, weight real, length int, facts text[],
  tsv tsvector)
language sql stable security definer rows 5000 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select w.block, w.part, w.file, f.chat, w.time, w.weight, w.length, w.facts, w.tsv
  from words w join files f on f.build = this_build() and f.id = w.file
    join chats c on c.build = this_build() and c.id = f.chat
  where w.build = this_build() and w.block = any(blocks) and not c.silent
    and (sees_all() or (f.machine, f.home) in (select * from visible_homes())
      or f.source in (select * from visible_sources()))
$$;

-- In how many passages a word is, at most `most`: of the whole build, for the rank only.
create function frequency(query tsquery, most int) returns bigint
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select count(*) from (select 1 from words w where w.build + 0 = this_build() and w.tsv @@ query limit most) x
$$;

-- The same of what the asker may see.
create function visible_frequency(query tsquery, most int) returns bigint
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select count(*) from (
    select distinct w.block from words w join files f on f.build = this_build() and f.id = w.file
    where w.build + 0 = this_build() and w.tsv @@ query and (sees_all()
      or (f.machine, f.home) in (select * from visible_homes()) or f.source in (select * from visible_sources()))
    limit most) x
$$;

-- Words of the build, whoever wrote them: a caller shows only those that are in passages the asker may see.
create function known_words(given text[]) returns setof text
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select l.word from lexicon l where l.build = this_build() and l.word = any(given)
$$;
create function words_from(first text, last text, most int) returns setof text
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select l.word from lexicon l where l.build = this_build() and l.word >= first and l.word < last order by 1 limit most
$$;
create function words_with(letters text) returns setof text
language sql stable security definer set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select l.word from lexicon l where l.build = this_build() and l.word like '%' || letters || '%'
$$;
