-- Passages by their numbers are looked up first, and joined with the files that the asker sees after that: `offset 0` keeps
-- PostgreSQL from joining files and numbers by their build, which read all passages of a build for each of these pairs.
create or replace function found(blocks bigint[])
returns table (block bigint, part int, file bigint, chat bigint, "time" bigint, weight real, length int, facts text[],
  tsv tsvector)
language sql stable security definer rows 5000 set enable_seqscan = off set search_path = backscroll, public, pg_temp as $$
  select seen_id(f.build, w.block, f.is_shared), w.part, seen_id(f.build, w.file, f.is_shared),
    seen_id(f.build, f.chat, f.is_shared), w.time, w.weight, w.length, w.facts, w.tsv
  from (
    select case when b >> 40 = 0 then this_build() else (b >> 40)::int end as build, b - ((b >> 40) << 40) as block
    from (select distinct b from unnest(blocks) b) x) b
    cross join lateral (select * from words w where w.build = b.build and w.block = b.block offset 0) w
    join seen_files() f on f.build = w.build and f.file = w.file
$$;
