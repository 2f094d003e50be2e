-- A chat is visible with a transcript of it, not with the result of a tool in a file of its own.
alter policy chats_reader on chats
  using (build = this_build() and (sees_all() or id in (select f.chat from files f where f.kind <> 'tool-result')));
