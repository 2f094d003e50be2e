-- What is found in a passage is worth the same wherever it is found, in every engine: `weight` says what the passage counts,
-- and how often a word occurs in it no longer decides. A word of a passage in several parts counts once.

drop function best_passages(text[], float8[], boolean[], int, float8, float8, int);

-- The best passages: by what each of these queries is worth, added up, times the weight of the passage. A passage must match
-- one of the first `needed`.
create function best_passages(queries text[], worths float8[], needed int, most int)
returns table (score float8, chat bigint, block bigint, file bigint)
language sql stable security definer rows 500 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  with asked as materialized (
    select b.build, q.number, q.worth, of_build(q.query, b.build) as query, seen_query(q.query, b.build, b.files) as seen
    from seen_builds() b cross join unnest(queries, worths) with ordinality q (query, worth, number)),
  matching as (
    select w.build, w.block, min(w.file) as file, min(w.weight) * sum(a.worth) as score
    from asked a cross join lateral (select w.build, w.block, w.file, w.weight from words w
      where w.build + 0 = a.build and w.tsv @@ a.seen and (w.part = 0 or not exists (
        select 1 from words o where o.build = w.build and o.block = w.block and o.part < w.part and o.tsv @@ a.query))
      offset 0) w
    group by 1, 2
    having bool_or(a.number <= needed))
  select m.score, seen_id(f.build, f.chat, f.is_shared), seen_id(f.build, m.block, f.is_shared),
    seen_id(f.build, f.file, f.is_shared)
  from matching m join seen_files() f on f.build = m.build and f.file = m.file
  order by m.score desc, m.block limit most
$$;

revoke execute on function best_passages(text[], float8[], int, int) from public;
grant execute on function best_passages(text[], float8[], int, int) to backscroll_reader, backscroll_shared;
