-- Browsers in which a person has signed in with their password. Guesses from elsewhere do not slow them down.
create table known_browser (
  digest bytea primary key, -- of the secret in its cookie
  person int not null references person on delete cascade,
  seen timestamptz not null default now()
);
create index known_browser_person on known_browser (person, seen);

-- A machine that waits to be let in: where it asked from, and when it last asked whether it was.
alter table device_request add column address text not null default '';
alter table device_request add column polled timestamptz not null default now();
create index device_request_address on device_request (address, polled);

-- What was counted here as the size of the objects of a machine: since this version, what they unpack to. A worker counts
-- it again when it next reads them.
comment on column device.stored_bytes is 'what its objects unpack to';
