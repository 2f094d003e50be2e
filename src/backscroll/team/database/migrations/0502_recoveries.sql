-- A link that opens an account which was in use before. Until it is confirmed, it shows nothing of that account: what it
-- brings (a password, who one is at the provider) and its sessions are kept here, apart from those that count.
create table recovery (
  id int generated always as identity primary key,
  org int not null references org,
  person int not null references person on delete cascade,
  link bytea not null unique, -- digest of the link
  made_by text not null, -- handle of an administrator, `operator`, or `server`
  counts_as_owner boolean not null default false, -- made by one who had long been an owner: a second one may approve it
  made timestamptz not null default now(),
  opened timestamptz,
  code text unique, -- for a connected machine of the person
  password text,
  issuer text,
  subject text,
  decided timestamptz,
  decided_by text,
  is_confirmed boolean not null default false,
  dismissed timestamptz, -- when the person had read about it
  check ((issuer is null) = (subject is null))
);
create index recovery_person on recovery (person);

create table recovery_session (
  digest bytea primary key,
  recovery int not null references recovery on delete cascade,
  person int not null references person on delete cascade,
  by_password boolean not null,
  browser text not null default '',
  created timestamptz not null default now()
);

alter table invitation add column opens boolean not null default false; -- opens an account in use: made by the operator

alter table person add column owner_since timestamptz;
alter table person add column must_change_password boolean not null default false;
alter table person add column unproved boolean not null default false; -- who signs in has to be confirmed first

-- A chat is shared with the team as it is at that time: those who join later read it once its owner includes them.
alter table membership add column since timestamptz not null default '1970-01-01';
alter table membership alter column since set default now();
alter table share add column members_as_of timestamptz not null default now();
alter table prompt_share add column members_as_of timestamptz not null default now();

-- Earlier versions let any member change everything here (`reset_after_update`).
alter table org add column needs_reset boolean not null default false;
update org set needs_reset = true;
