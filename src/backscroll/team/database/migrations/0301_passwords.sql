-- An organisation can forbid passwords: its people then sign in through the identity provider only.
alter table org add column forbids_passwords boolean not null default false;
alter table person add column provider_seen timestamptz; -- when they last signed in through the provider
alter table web_session add column by_password boolean not null default true;
