-- What its owner shares of their chats, with whom, until when. Without a row here a chat is private.

create table share (
  id int generated always as identity primary key,
  owner int not null references person on delete cascade,
  chat text not null,
  title text not null,
  audience text not null check (audience in ('team', 'org')),
  team int references team on delete cascade,
  created timestamptz not null default now(),
  expires timestamptz,
  revoked timestamptz,
  check ((audience = 'team') = (team is not null))
);
create index share_owner on share (owner, chat) where revoked is null;

-- Who read what of another person, for that person to see. One row for a reader, a chat and a day.
create table access (
  owner int not null references person on delete cascade,
  reader int not null references person on delete cascade,
  chat text not null,
  day date not null default current_date,
  first timestamptz not null default now(),
  last timestamptz not null default now(),
  requests int not null default 1,
  primary key (owner, reader, chat, day)
);
