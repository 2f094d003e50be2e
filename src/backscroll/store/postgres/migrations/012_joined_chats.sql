-- Chats that became one. A chat that was shared shows nothing of another that joined it before its owner agrees: so it is
-- noted under which id each session was first shown, whatever is made anew later.
create table first_chats (
  org int not null,
  session ctext not null,
  chat ctext not null,
  primary key (org, session)
);
comment on table first_chats is 'Under which chat each session was first shown.';

create table joined_chats (
  build int not null,
  chat ctext not null,
  part ctext not null,
  primary key (build, chat, part)
);
create index joined_chats_part on joined_chats (build, part);
comment on table joined_chats is 'The chats that became one: its id, and the ids under which its sessions were first shown.';

do $$
declare
  b record;
begin
  for b in select id, org from builds where is_current loop
    perform set_config('backscroll.build', b.id::text, true);
    insert into first_chats (org, session, chat)
      select b.org, f.session, min(c.name) from files f join chats c on c.build = f.build and c.id = f.chat
      where f.build = b.id and f.kind = 'session' and f.session is not null group by f.session
      on conflict do nothing;
  end loop;
end $$;
