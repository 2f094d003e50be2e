-- What became one with a shared chat since is shown once its owner agrees: the ids of the chats that the owner agreed to.
alter table share add column agreed text[] not null default '{}';
alter table share_link add column agreed text[] not null default '{}';
