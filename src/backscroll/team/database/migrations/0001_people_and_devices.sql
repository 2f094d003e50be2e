-- Who there is: organisations, people, teams; and by what they are known: passwords, sessions, keys, devices.
-- Secrets are never stored, only their SHA-256 (passwords: argon2id).

create table org (
  id int generated always as identity primary key,
  name text not null unique check (length(name) between 1 and 100),
  created timestamptz not null default now()
);

create table person (
  id int generated always as identity primary key,
  org int not null references org,
  handle text not null unique check (handle ~ '^[a-z0-9][a-z0-9-]{0,30}$'), -- begins the name of every device: never changes
  name text not null check (length(name) between 1 and 100),
  email text,
  role text not null default 'member' check (role in ('owner', 'admin', 'auditor', 'member', 'service')),
  password text,
  issuer text,
  subject text,
  created timestamptz not null default now(),
  disabled timestamptz,
  unique (issuer, subject),
  check ((issuer is null) = (subject is null))
);

create table team (
  id int generated always as identity primary key,
  org int not null references org,
  name text not null check (length(name) between 1 and 100),
  unique (org, name)
);

create table membership (
  team int not null references team on delete cascade,
  person int not null references person on delete cascade,
  role text not null default 'member' check (role in ('lead', 'member')),
  primary key (team, person)
);

-- A link that lets one person in: the first administrator, or somebody that an administrator invited.
create table invitation (
  digest bytea primary key,
  org int not null references org,
  person int not null references person on delete cascade,
  invited_by int references person,
  created timestamptz not null default now(),
  expires timestamptz not null,
  used timestamptz
);

create table web_session (
  digest bytea primary key,
  person int not null references person on delete cascade,
  created timestamptz not null default now(),
  seen timestamptz not null default now(),
  browser text not null default ''
);
create index web_session_person on web_session (person);

create table api_key (
  id int generated always as identity primary key,
  person int not null references person on delete cascade,
  name text not null check (length(name) between 1 and 100),
  digest bytea not null unique,
  scopes text[] not null check (scopes <@ array['read', 'metrics']),
  created timestamptz not null default now(),
  used timestamptz,
  expires timestamptz,
  revoked timestamptz
);

create table device (
  id int generated always as identity primary key,
  person int not null references person on delete cascade,
  name text not null unique, -- `handle/machine`: the prefix of its objects, and its machine in the archive and the index
  credential bytea not null unique,
  created timestamptz not null default now(),
  seen timestamptz,
  sent_bytes bigint not null default 0,
  revoked timestamptz
);

-- A machine that waits for a signed-in person to let it in.
create table device_request (
  digest bytea primary key,
  code text not null unique,
  machine text not null,
  created timestamptz not null default now(),
  expires timestamptz not null,
  person int references person on delete cascade, -- who let it in
  denied boolean not null default false
);

-- What happened, in a chain: each event has the hash of the one before it, so that none can be changed or left out.
create table audit (
  org int not null references org,
  number bigint not null,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  about text not null,
  detail text not null default '',
  hash bytea not null,
  primary key (org, number)
);

create table job (
  id bigint generated always as identity primary key,
  kind text not null,
  about text not null,
  created timestamptz not null default now(),
  due timestamptz not null default now(),
  tries int not null default 0,
  version int not null default 0, -- counts how often it was wanted
  problem text not null default '',
  unique (kind, about)
);
create index job_due on job (due);
