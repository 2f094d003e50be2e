-- A member whom the identity provider put into a team leaves it when the provider no longer says so.

alter table membership add column from_group boolean not null default false;
