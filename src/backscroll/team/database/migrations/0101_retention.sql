-- How long chats are kept, counted from their last activity: of a project, or of all that no other rule is about.
create table retention_rule (
  id int generated always as identity primary key,
  org int not null references org,
  project text check (length(project) between 1 and 1000),
  days int not null check (days between 1 and 36500),
  made_by text not null,
  made timestamptz not null default now(),
  unique nulls not distinct (org, project)
);

-- When the chats of a person were last looked through.
create table retention_run (
  person int primary key references person on delete cascade,
  looked timestamptz not null default now(),
  is_unfinished boolean not null default false -- the archive has forgotten chats that may still be in objects
);

-- The chats of a person that have an end, as of the last look. No title, no text.
create table expiry (
  person int not null references person on delete cascade,
  chat text not null,
  at timestamptz not null,
  is_held boolean not null default false,
  primary key (person, chat)
);
create index expiry_at on expiry (at);
