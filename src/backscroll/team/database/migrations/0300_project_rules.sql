-- How much of which projects machines may send: the strictest rule that matches decides; by 'all', what no other matches.
create table project_rule (
  id int generated always as identity primary key,
  org int not null references org on delete cascade,
  by text not null check (by in ('all', 'remote', 'path', 'project')),
  pattern text not null check (length(pattern) <= 1000 and (pattern = '') = (by = 'all')),
  mode text not null check (mode in ('full', 'redacted', 'metrics', 'off')),
  made_by text not null,
  made timestamptz not null default now(),
  unique (org, by, pattern)
);

alter table org add column rules_digest text not null default ''; -- of its rules; empty without any
alter table org add column masks_arrivals boolean not null default false;
alter table device add column rules_digest text; -- of the rules that it last fetched; null: it never asked

-- The git remotes of the projects that a machine sends, as it says.
create table device_project (
  device int not null references device on delete cascade,
  person int not null references person on delete cascade,
  path text not null check (length(path) <= 1000),
  remote text not null check (length(remote) <= 500),
  primary key (device, path)
);
create index device_project_person on device_project (person);
