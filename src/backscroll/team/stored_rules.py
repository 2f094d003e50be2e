"""The rules of organisations, as the routes for devices ask for them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.sync.http_remote import ToldProject
from backscroll.sync.policy import OrgRules
from backscroll.team.project_rules import note_projects, org_rules

if TYPE_CHECKING:
    from backscroll.team.database import Database


class StoredRules:
    """Rules in the database."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def rules(self, device: str) -> OrgRules:
        """The rules for a device."""
        with self._database.transaction() as connection:
            return org_rules(connection, device)

    def note_projects(self, device: str, projects: Sequence[ToldProject]) -> None:
        """A device tells which projects it sends."""
        with self._database.transaction() as connection:
            note_projects(connection, device, projects)
