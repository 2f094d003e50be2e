-- What a month may cost, for the organisation or for a team; and whether leads see sums of few people.

create table budget (
  org int not null references org on delete cascade,
  team int references team on delete cascade, -- null: the whole organisation
  dollars numeric not null check (dollars > 0),
  unique nulls not distinct (org, team)
);

alter table org add column shows_small_sums boolean not null default false;
