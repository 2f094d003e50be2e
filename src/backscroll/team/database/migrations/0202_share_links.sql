-- Links with which people outside read one chat, redacted, until a day. The secret in the link is stored as its SHA-256.

create table share_link (
  id int generated always as identity primary key,
  owner int not null references person on delete cascade,
  chat text not null,
  title text not null,
  digest bytea not null unique,
  created timestamptz not null default now(),
  expires timestamptz not null,
  revoked timestamptz,
  opened int not null default 0,
  last_opened timestamptz
);
create index share_link_owner on share_link (owner, chat);
