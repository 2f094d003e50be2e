"""What must not be shared. Pure."""

from backscroll.redaction.redactor import Redactor, redact, redacted_value, usual_rules
from backscroll.redaction.rules import RULES, VERSION, Rule

__all__ = ["RULES", "VERSION", "Redactor", "Rule", "redact", "redacted_value", "usual_rules"]
