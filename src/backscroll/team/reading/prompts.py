"""The saved prompts of a team server: each belongs to a person, who may share it with a team or with everyone.

A person may use their own prompts and those that others share with them now. Uses are counted per prompt, not by
person.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from backscroll.errors import NothingFound, UsageError
from backscroll.library.prompts.prompt import (
    Audience,
    PromptChange,
    PromptSource,
    SavedPrompt,
    by_name,
    changed_prompt,
    no_such_prompt,
    time_text,
)
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person
from backscroll.team.people.teams import teams

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

EVERYONE: Final = "org"
MAX_PROMPTS: Final = 1000
"""Prompts that one person may save."""
MAX_TEXT: Final = 4_000_000
"""Characters of all prompts of one person: every list of prompts has the texts of all who share theirs."""


class TeamPrompts:
    """The prompts that a person may use."""

    def __init__(self, database: "Database", person: Person) -> None:
        self._database, self._person = database, person

    @property
    def audiences(self) -> Sequence[Audience]:
        """The person's own teams, and everyone."""
        with self._database.transaction(self._person.org) as connection:
            return _audiences(connection, self._person)

    def all(self) -> list[SavedPrompt]:
        """List the prompts of the person, and those that others share with them."""
        with self._database.transaction(self._person.org) as connection:
            return by_name(prompt for _, prompt in _usable(connection, self._person))

    def find(self, key: str) -> SavedPrompt:
        """Find a prompt by its key."""
        with self._database.transaction(self._person.org) as connection:
            return _find(connection, self._person, key)[1]

    def add(self, prompt: SavedPrompt) -> SavedPrompt:
        """Save a new prompt."""
        with self._database.transaction(self._person.org) as connection:
            return add_prompt(connection, self._person, prompt)

    def change(self, key: str, change: PromptChange) -> SavedPrompt:
        """Change a prompt of the person."""
        with self._database.transaction(self._person.org) as connection:
            number, old = _find_own(connection, self._person, key)
            new = changed_prompt(old, change)
            if new.name != old.name:
                _expect_free(connection, self._person, new.name)
            if len(new.text) > len(old.text):
                _expect_room(connection, self._person, len(new.text) - len(old.text))
            connection.execute(
                "update prompt set name = %s, text = %s, description = %s, tags = %s, changed = now() where id = %s",
                (new.name, new.text, new.description, new.tags, number),
            )
            return new

    def remove(self, key: str) -> SavedPrompt:
        """Delete a prompt of the person, for everyone."""
        with self._database.transaction(self._person.org) as connection:
            number, prompt = _find_own(connection, self._person, key)
            connection.execute("delete from prompt where id = %s", (number,))
            return prompt

    def count_use(self, key: str) -> SavedPrompt:
        """Count a use of a prompt, own or shared."""
        with self._database.transaction(self._person.org) as connection:
            number, prompt = _find(connection, self._person, key)
            connection.execute("update prompt set uses = uses + 1, used = now() where id = %s", (number,))
            prompt.uses += 1
            prompt.used = time_text()
            return prompt

    def share(self, key: str, audience: str) -> None:
        """Share a prompt with a team as it is now, or with everyone. Sharing it again includes new members."""
        with self._database.transaction(self._person.org) as connection:
            number, prompt = _find_own(connection, self._person, key)
            shared_with = _audience(connection, self._person, audience)
            row = connection.execute(
                "insert into prompt_share (prompt, owner, team) values (%s, %s, %s)"
                " on conflict (prompt, team) do update set members_as_of = now() returning prompt",
                (number, self._person.id, _team_of(shared_with.key)),
            ).fetchone()
            if row is not None:
                self._record(connection, "prompt.share", prompt.name, shared_with.key)

    def unshare(self, key: str, audience: str) -> None:
        """Stop sharing a prompt, from now on."""
        with self._database.transaction(self._person.org) as connection:
            number, prompt = _find_own(connection, self._person, key)
            if audience not in {shared.key for shared in prompt.shared_with}:
                raise NothingFound("it is not shared with them", "see who can use it")
            connection.execute(
                "delete from prompt_share where prompt = %s and team is not distinct from %s",
                (number, _team_of(audience)),
            )
            self._record(connection, "prompt.unshare", prompt.name, audience)

    def _record(self, connection: "Connection", action: str, name: str, audience: str) -> None:
        team = connection.execute("select name from team where id = %s", (_team_of(audience),)).fetchone()
        detail = f"team {team[0]}" if team else "everyone"
        record(connection, self._person.org, self._person.handle, action, name, detail)


def add_prompt(connection: "Connection", owner: Person, prompt: SavedPrompt) -> SavedPrompt:
    """Save a prompt of a person."""
    _expect_free(connection, owner, prompt.name)
    row = connection.execute("select count(*) from prompt where owner = %s", (owner.id,)).fetchone()
    if row is not None and row[0] >= MAX_PROMPTS:
        raise UsageError(f"you have {MAX_PROMPTS:,} saved prompts", "delete some of them first")
    _expect_room(connection, owner, len(prompt.text))
    source = prompt.source
    connection.execute(
        "insert into prompt (owner, name, text, description, tags, source_chat, source_message)"
        " values (%s, %s, %s, %s, %s, %s, %s)",
        (owner.id, prompt.name, prompt.text, prompt.description, prompt.tags, source.chat if source else None,
         source.message if source else None),
    )  # fmt: skip
    return prompt


def _expect_room(connection: "Connection", owner: Person, more: int) -> None:
    used = "select coalesce(sum(length(text)), 0) from prompt where owner = %s"
    row = connection.execute(used, (owner.id,)).fetchone()
    if row is not None and row[0] + more > MAX_TEXT:
        raise UsageError(f"your prompts would have more than {MAX_TEXT:,} characters", "shorten or delete some first")


def prompts_of(connection: "Connection", owner: Person) -> list[SavedPrompt]:
    """List the prompts that a person saved, without those of others."""
    return by_name(prompt for _, prompt in _usable(connection, owner) if not prompt.owner)


def _usable(connection: "Connection", person: Person, name: str = "") -> list[tuple[int, SavedPrompt]]:
    """List the prompts that a person may use, with their numbers: all, or those called `name`."""
    values = {"me": person.id, "org": person.org, "name": name}
    statement = USABLE if not name else f"{USABLE} and p.name = %(name)s"
    return [_prompt(person, row) for row in connection.execute(statement, values)]


def _find(connection: "Connection", person: Person, key: str) -> tuple[int, SavedPrompt]:
    owner, _, name = key.rpartition(":")
    owner = "" if owner == person.handle else owner
    for number, prompt in _usable(connection, person, name or "?"):
        if prompt.owner == owner:
            return number, prompt
    raise no_such_prompt(key)


def _find_own(connection: "Connection", person: Person, key: str) -> tuple[int, SavedPrompt]:
    """Find a prompt of the person; NothingFound for one of another, which they cannot change."""
    number, prompt = _find(connection, person, key)
    if prompt.owner:
        raise NothingFound(f"{key} is not yours", f"ask {prompt.owner}, or save a copy of it")
    return number, prompt


def _prompt(person: Person, row: tuple[Any, ...]) -> tuple[int, SavedPrompt]:
    number, name, text, description, tags, chat, message, created, changed, uses, used, owner, shares = row
    is_own = owner == person.handle
    return int(number), SavedPrompt(
        name=name,
        text=text,
        description=description,
        tags=list(tags),
        # Where it is from is for its owner: others may not be able to read that chat.
        source=PromptSource(chat=chat, message=message) if chat and is_own else None,
        created=_time(created),
        changed=_time(changed),
        uses=uses,
        used=_time(used),
        owner="" if is_own else owner,
        shared_with=[_shared(team, team_name) for team, team_name in shares] if is_own else [],
    )


def _shared(team: int | str | None, name: str | None) -> Audience:
    return Audience(EVERYONE, "everyone") if team is None else Audience(f"team-{team}", f"{name}")


def _audiences(connection: "Connection", person: Person) -> list[Audience]:
    own = [team for team in teams(connection, person.org) if team.id in person.teams]
    return [*(_shared(team.id, f"the team {team.name}") for team in own), _shared(None, None)]


def _audience(connection: "Connection", person: Person, key: str) -> Audience:
    chosen = next((each for each in _audiences(connection, person) if each.key == key), None)
    if chosen is None:
        raise NothingFound("you are not in this team", "choose one of your teams")
    return chosen


def _team_of(audience: str) -> int | None:
    return None if audience == EVERYONE else int(audience.removeprefix("team-"))


def _expect_free(connection: "Connection", owner: Person, name: str) -> None:
    # One change at a time for each person: two that come at once must not both find the name free.
    connection.execute("select pg_advisory_xact_lock(hashtext('prompts'), %s)", (owner.id,))
    if connection.execute("select 1 from prompt where owner = %s and name = %s", (owner.id, name)).fetchone():
        raise UsageError(f"there is a saved prompt {name} already", "choose another name")


def _time(when: datetime | None) -> str:
    return time_text(when) if when else ""


USABLE: Final = """
select p.id, p.name, p.text, p.description, p.tags, p.source_chat, p.source_message, p.created, p.changed, p.uses,
  p.used, o.handle,
  array(select array[s.team::text, 'the team ' || t.name] from prompt_share s left join team t on t.id = s.team
        where s.prompt = p.id order by s.team nulls last)
from prompt p join person o on o.id = p.owner
where (p.owner = %(me)s or (o.org = %(org)s and o.disabled is null and exists (
  select 1 from prompt_share s where s.prompt = p.id and (s.team is null or exists (
    select from membership m where m.team = s.team and m.person = %(me)s and m.since <= s.members_as_of)))))
"""
