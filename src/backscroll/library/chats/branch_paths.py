"""The turns of a branch; see `conversation.branch_paths`."""

from backscroll.conversation.branch_paths import path_of as path_of
from backscroll.conversation.branch_paths import places_of as places_of
