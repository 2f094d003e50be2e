-- The words of a passage begin with the number of its build ('7=zebra'). The index then has a list for each word of each
-- build: how long a search takes depends on how much its asker may see, not on how much all others have. Words of before
-- are not found; a worker makes these indexes anew, and until then a search says what is missing.

drop function found(tsquery);
drop function found();
drop function found(bigint[]);
drop function frequency(tsquery, int);
drop function visible_frequency(tsquery, int);
drop table words;
update builds set passages = 0, words = 0, has_parts = false;
alter table marks no force row level security;
alter table files no force row level security;
delete from marks where name like 'stage %';
update files set passages = 0;
alter table marks force row level security;
alter table files force row level security;

create table words (
  block bigint not null,
  file bigint not null,
  time bigint not null,
  part int not null default 0,
  build int not null default this_build(),
  weight real not null,
  length int not null,
  said boolean not null,
  facts text[] not null,
  tsv tsvector not null,
  primary key (build, block, part)
);
comment on column words.part is 'A passage with more words than a tsvector has places is cut into several.';
comment on column words.said is 'Whether it is a title, a prompt or an answer.';
do $$ begin
  alter table words alter tsv set compression lz4; -- faster, where PostgreSQL was built with it
exception when feature_not_supported then null;
end $$;
alter table words alter tsv set statistics 0; -- which words are looked for is never known when a plan is made
create index words_tsv on words using gin (tsv) with (gin_pending_list_limit = 256); -- each search reads that list

-- A query is a text in which U+E000 stands for the build, before each word.
create function of_build(query text, build int) returns tsquery language sql immutable parallel safe
  as $$ select replace(query, U&'\E000', build::text || '=')::tsquery $$;

-- The files that an asker sees, each with its chat. The file of a passage is one of its words ('7=#file:3'), by which the
-- index finds what others share, and not all that they have.
create function seen_files() returns table (build int, file bigint, chat bigint, is_shared boolean)
language sql stable rows 100 set search_path = backscroll, public, pg_temp as $$
  select f.build, f.id, f.chat, false from files f join chats c on c.build = this_build() and c.id = f.chat
  where f.build = this_build() and not c.silent and (sees_all()
    or (f.machine, f.home) in (select * from visible_homes()) or f.source in (select * from visible_sources()))
  union all
  select s.build, s.file, s.chat, true from shared_files() s
$$;
create function seen_builds() returns table (build int, files tsquery) language sql stable parallel safe rows 20
  as $$
  select this_build(), null::tsquery where this_build() <> 0
  union all
  select s.build, string_agg(format('''%s=#file:%s''', s.build, s.file), '|')::tsquery from shared_files() s group by 1 $$;
create function seen_query(query text, build int, files tsquery) returns tsquery language sql immutable parallel safe
  as $$ select case when files is null then of_build(query, build) else files && of_build(query, build) end $$;
create function seen_id(build int, id bigint, is_shared boolean) returns bigint language sql immutable parallel safe
  as $$ select case when is_shared then shared_id(build, id) else id end $$;

-- The functions below are the only way to the words, and take the rights from the settings of the session. Which rows are of
-- a build is decided by the row and never by the query: `build + 0` keeps PostgreSQL from reading all passages of a build
-- for it, and `offset 0` from joining anything else first.

-- The passages that match. Words themselves are handed out only where they are looked at again: they are most of a row.
create function found(query text, has_words boolean default true)
returns table (block bigint, part int, file bigint, chat bigint, "time" bigint, weight real, length int, facts text[],
  tsv tsvector)
language sql stable security definer rows 5000 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select seen_id(f.build, w.block, f.is_shared), w.part, seen_id(f.build, w.file, f.is_shared),
    seen_id(f.build, f.chat, f.is_shared), w.time, w.weight, w.length, w.facts, case when has_words then w.tsv end
  from seen_builds() b
    cross join lateral (select * from words w
      where w.build + 0 = b.build and w.tsv @@ seen_query(query, b.build, b.files) offset 0) w
    join seen_files() f on f.build = w.build and f.file = w.file
$$;

create function found()
returns table (block bigint, part int, file bigint, chat bigint, "time" bigint, weight real, length int, facts text[],
  tsv tsvector)
language sql stable security definer rows 5000 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select seen_id(f.build, w.block, f.is_shared), w.part, seen_id(f.build, w.file, f.is_shared),
    seen_id(f.build, f.chat, f.is_shared), w.time, w.weight, w.length, w.facts, w.tsv
  from (
    select * from words where build = this_build()
    union all
    select w.* from seen_builds() b cross join lateral (select * from words w
      where w.build + 0 = b.build and w.tsv @@ b.files offset 0) w
    where b.files is not null) w
  join seen_files() f on f.build = w.build and f.file = w.file
$$;

create function found(blocks bigint[])
returns table (block bigint, part int, file bigint, chat bigint, "time" bigint, weight real, length int, facts text[],
  tsv tsvector)
language sql stable security definer rows 5000 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select seen_id(f.build, w.block, f.is_shared), w.part, seen_id(f.build, w.file, f.is_shared),
    seen_id(f.build, f.chat, f.is_shared), w.time, w.weight, w.length, w.facts, w.tsv
  from (
    select case when b >> 40 = 0 then this_build() else (b >> 40)::int end as build, b - ((b >> 40) << 40) as block
    from (select distinct b from unnest(blocks) b) x) b
    join words w on w.build = b.build and w.block = b.block
    join seen_files() f on f.build = w.build and f.file = w.file
$$;

-- How many passages of each chat match each of these queries, and how many of them are titles, prompts or answers. A passage in
-- several parts counts once.
create function chat_counts(queries text[]) returns table (number int, chat bigint, found bigint, said bigint)
language sql stable security definer rows 500 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select w.number, seen_id(f.build, f.chat, f.is_shared), sum(w.found)::bigint, sum(w.said)::bigint
  from (
    select q.number::int, b.build, w.file, w.found, w.said
    from seen_builds() b cross join unnest(queries) with ordinality q (query, number)
      cross join lateral (
        select w.file, count(*) as found, count(*) filter (where w.said) as said from words w
        where w.build + 0 = b.build and w.tsv @@ seen_query(q.query, b.build, b.files) and (w.part = 0 or not exists (
          select 1 from words o where o.build = w.build and o.block = w.block and o.part < w.part
            and o.tsv @@ of_build(q.query, b.build)))
        group by 1) w) w
    join seen_files() f on f.build = w.build and f.file = w.file
  group by 1, 2
$$;

-- How many matching passages have each combination of facts and are not before how many of these times, in order; and one of
-- them.
create function fact_counts(query text, times bigint[]) returns table (facts text[], later int, found bigint, example bigint)
language sql stable security definer rows 100 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select w.facts, w.later, sum(w.found)::bigint, min(seen_id(f.build, w.example, f.is_shared))
  from seen_builds() b
    cross join lateral (
      select w.file, w.facts, width_bucket(w.time, times) as later, count(*) as found, min(w.block) as example from words w
      where w.build + 0 = b.build and w.tsv @@ seen_query(query, b.build, b.files) and (w.part = 0 or not exists (
        select 1 from words o where o.build = w.build and o.block = w.block and o.part < w.part
          and o.tsv @@ of_build(query, b.build)))
      group by 1, 2, 3) w
    join seen_files() f on f.build = b.build and f.file = w.file
  group by 1, 2
$$;

-- The best passages: first by bm25 with one occurrence of each word, then those again with how often each occurs. Queries that
-- are no words (`are_words`) are worth the same wherever they are found. A passage must match one of the first `needed`. Its
-- length counts from `base` on, `slope` for each of its words.
create function best_passages(queries text[], worths float8[], are_words boolean[], needed int, base float8, slope float8,
  most int)
returns table (score float8, chat bigint, block bigint, file bigint)
language sql stable security definer rows 500 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  with asked as materialized (
    select b.build, q.number, q.worth, q.is_word, of_build(q.query, b.build) as query,
      seen_query(q.query, b.build, b.files) as seen
    from seen_builds() b cross join unnest(queries, worths, are_words) with ordinality q (query, worth, is_word, number)),
  matching as (
    select shared_id(w.build, w.block) as id, w.part, min(w.file) as file, min(w.weight) * sum(
      a.worth * case when a.is_word then 1 / (1 + base + slope * w.length) else 1 end) as score
    from asked a cross join lateral (select w.build, w.block, w.part, w.file, w.weight, w.length from words w
      where w.build + 0 = a.build and w.tsv @@ a.seen offset 0) w
    group by 1, 2
    having bool_or(a.number <= needed)),
  first as materialized (
    select f.build, m.id - shared_id(f.build, 0) as block, m.part, f.file, f.chat, f.is_shared
    from matching m join seen_files() f on f.build = (m.id >> 40)::int and f.file = m.file
    order by m.score desc, m.id limit most)
  select max(s.score), seen_id(f.build, f.chat, f.is_shared), seen_id(f.build, f.block, f.is_shared),
    seen_id(f.build, f.file, f.is_shared)
  from first f
    -- Each use of words that are stored packed would unpack them again: `||` and `offset 0` do so once.
    cross join lateral (select w.weight, w.length, w.tsv || ''::tsvector as tsv from words w
      where w.build = f.build and w.block = f.block and w.part = f.part offset 0) w
    cross join lateral (
      select w.weight * sum(a.worth * case when a.is_word then often / (often + base + slope * w.length) else 1 end) as score
      from asked a
        cross join lateral (select case when a.is_word then ts_rank('{1,1,1,1}', w.tsv, a.query) end as rank offset 0) r
        cross join lateral (select greatest(1, .65 * rank / (1.0001 - rank)) as often offset 0) o
      where a.build = f.build and case when a.is_word then rank > 0 else w.tsv @@ a.query end) s
  group by 2, 3, 4 order by 1 desc, 3
$$;

revoke execute on function of_build(text, int), seen_files(), seen_builds(), seen_query(text, int, tsquery),
  seen_id(int, bigint, boolean), found(text, boolean), found(), found(bigint[]), chat_counts(text[]),
  fact_counts(text, bigint[]), best_passages(text[], float8[], boolean[], int, float8, float8, int) from public;
grant execute on function of_build(text, int), found(text, boolean), found(), found(bigint[]), chat_counts(text[]),
  fact_counts(text, bigint[]), best_passages(text[], float8[], boolean[], int, float8, float8, int) to backscroll_reader, backscroll_shared;
