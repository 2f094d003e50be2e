-- Whether a person lets those who see the sums of their teams see what they spend, by name.
alter table person add column shows_spend boolean not null default false;
