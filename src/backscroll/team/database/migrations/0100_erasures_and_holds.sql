-- The ledger of erasures. It outlives what was erased, and a restored server does all of it again before it serves. The
-- row of an erased person stays, without anything but the handle: no one else may get it, because it names objects.
alter table person add column erased timestamptz;

create table erasure (
  id int generated always as identity primary key,
  org int not null references org,
  person int not null references person,
  handle text not null,
  reason text not null default '' check (length(reason) <= 300),
  asked_by text not null,
  asked timestamptz not null default now(),
  begun timestamptz, -- from here on no hold can stop it
  done timestamptz,
  objects int not null default 0
);
create unique index erasure_open on erasure (person) where done is null;

-- What must not be erased or expire: everything of a person, or one chat of theirs.
create table hold (
  id int generated always as identity primary key,
  org int not null references org,
  person int not null references person,
  chat text,
  reason text not null check (length(reason) between 1 and 300),
  placed_by text not null,
  placed timestamptz not null default now(),
  released_by text,
  released timestamptz
);
create index hold_person on hold (person) where released is null;
