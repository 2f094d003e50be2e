-- How much an organisation and each of its people may store, and how fast they may send. Null: no limit, or the usual one.
create table org_limits (
  org int primary key references org on delete cascade,
  person_bytes bigint check (person_bytes > 0),
  org_bytes bigint check (org_bytes > 0),
  person_rate bigint check (person_rate > 0), -- bytes a second
  org_rate bigint check (org_rate > 0)
);
alter table person add column quota_bytes bigint check (quota_bytes > 0); -- instead of the one for everyone
alter table device add column stored_bytes bigint not null default 0; -- of its objects
update device set stored_bytes = sent_bytes;
