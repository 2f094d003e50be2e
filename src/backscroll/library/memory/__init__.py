"""Answer questions and errors from earlier chats, within a token budget.

`questions` turns a question into its significant words and several queries; `recall` merges their results, weighs and
chooses; `surroundings` finds the turn of a passage, `solved_errors` the solution of an error; `answer_text` fits
everything into a budget, which `budget` counts; `render/recall` quotes it. `saved_recalls` are answers that were saved.
`setup/plugin` puts our files where Claude Code finds them. `setup/capturing` checks whether automatic capturing works,
from the notes of `captures` (docs/why/capturing.md).
"""
