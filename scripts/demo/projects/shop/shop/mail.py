"""The mails that the shop sends, by language."""

TEMPLATES = {
    "en": {
        "confirmed": "Hello {name},\n\nthank you for your order {order}. We pack it today.\n\nYour shop",
        "sent": "Hello {name},\n\nyour order {order} is on its way. It should be with you in {days} days.\n\nYour shop",
        "late": "Hello {name},\n\nwe are sorry: your order {order} is late. We will write again tomorrow.\n\nYour shop",
    },
}


def write(language: str, kind: str, **values: object) -> str:
    return TEMPLATES[language][kind].format(**values)
