-- Prompts that people saved to use again. A prompt is private until its owner shares it.

create table prompt (
  id int generated always as identity primary key,
  owner int not null references person on delete cascade,
  name text not null check (name ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
  text text not null check (length(text) between 1 and 100000),
  description text not null default '',
  tags text[] not null default '{}',
  source_chat text,
  source_message text,
  created timestamptz not null default now(),
  changed timestamptz,
  uses int not null default 0, -- by everyone who may use it; by whom is not stored
  used timestamptz,
  unique (owner, name),
  check ((source_chat is null) = (source_message is null))
);

-- With whom: a team, or, without one, everyone of the organisation.
create table prompt_share (
  prompt int not null references prompt on delete cascade,
  owner int not null references person on delete cascade,
  team int references team on delete cascade,
  created timestamptz not null default now(),
  unique nulls not distinct (prompt, team)
);
