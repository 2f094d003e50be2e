"""Commands that take a password, with its position on their line."""

from typing import Final

from backscroll.redaction.names import CHOSEN, DRAWN, START, Q

# An argument: no space, no quotation mark, and no option.
ARGUMENT: Final = r"([^\s\"'`\\\xff-][^\s\"'`\\\xff]{5,})"
# The rest of a command, up to a pipe or the next one.
REST: Final = r"[^\n|;&\xff]*?"
# The beginning of an option; a sentence may have two hyphens between words.
DASHES: Final = r"(?:^|[^A-Za-z0-9\xff-]|\\[nrt])--"
ECHO: Final = rf"{START}(?:echo|printf)\s+(?:-\w+\s+)*{Q}"


def option(commands: str, options: str) -> str:
    """Return the pattern of a command with an option that takes the password, behind it or glued to it."""
    return rf"{START}(?:{commands})(?:\s{REST})?\s(?:{options}){Q}{ARGUMENT}"


PASSWORD_COMMANDS: Final = (
    rf"{DASHES}(?:[a-z0-9]+-)*(?:password|passwd|pass|passphrase|pwd)[ =]{Q}{ARGUMENT}",
    rf"-(?:src|dest|new)?(?:store|key)pass(?:wd)?\s+{Q}{ARGUMENT}",
    rf"{START}pass(?:in|out)?\s+pass:([^\s\"'`\\<>\xff]{{4,}})",
    rf"{START}(?:[xw]freerdp|cmdkey|rdesktop)\s{REST}/p(?:ass)?:{Q}{ARGUMENT}",
    option(r"(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|oc|az|cf)\s[a-z -]*?login", r"-p[ =]"),
    option("sshpass", "-p ?"),
    option(r"mysql\w*|mariadb(?:-\w+)?|7z[ar]?|rar|unrar", "-h?p"),
    option(r"mongo\w*|psexec\w*|winexe|snowsql", "-p "),
    option("redis-cli", "-a "),
    option(r"ldap\w+", "-w "),
    option(r"sqlcmd|bcp|osql|tsql|isql|zip|unzip|zipcloak|ipmitool|mosquitto_[a-z]+", "-P ?"),
    option(r"openssl\s+(?:enc|aes-[a-z0-9-]+|des3)", "-k "),
    rf"{START}(?:rclone obscure|wpa_passphrase \S+|rabbitmqctl (?:add_user|change_password) \S+)\s+{Q}{ARGUMENT}",
    rf"{START}(?:smb\w+|rpcclient|net)\s{REST}(?:-U|--user)[ =]?{Q}[^\s%\"'`\xff]+%([^\s\"'`\\\xff]{{4,}})",
    rf"{START}lftp\s{REST}-u[ =]?{Q}[^\s,\"'`\xff]+,([^\s\"'`\\\xff]{{4,}})",
    rf"{START}(?:htpasswd|mosquitto_passwd)\s{REST}-\w*b\w*\s[^\n|;&\xff]*[ \t]{Q}([^\s\"'`\\|;&<>\xff]{{4,}})",
    rf"{ECHO}[^\s:\"'`\xff]+:([^\s\"'`\\\xff]{{4,}}){Q}(?:\\+n{Q})?\s*\|\s*(?:sudo\s+)?chpasswd",
    rf"{START}chpasswd\b[^\n<\xff]*<<<?[-~]?\s*{Q}(?:\w+{Q}(?:\n|\\+n))?[^\s:\"'<\xff]+:([^\s\"'`\\\xff]{{4,}})",
    rf"{ECHO}([^\s\"'`\\\xff]{{4,}}){Q}(?:\\+n{Q})?\s*\|\s*sudo\s+(?:-\w+\s+)*-\w*S",
    rf"{START}sudo\s+(?:-\w+\s+)*-\w*S\b[^\n<\xff]*<<<\s*{Q}([^\s\"'`\\\xff]{{4,}})",
    rf"{START}net\s+use\s[^\n\xff]*?/user:\S+\s+{Q}([^\s\"'`\\\xff/][^\s\"'`\\\xff]{{3,}})",
    rf"{START}net\s+user\s+\S+\s+{Q}([^\s\"'`\\\xff/*][^\s\"'`\\\xff]{{3,}})",
    rf"{START}nmcli\s{REST}\bpassword\s+{Q}{ARGUMENT}",
)
ACCOUNT_COMMANDS: Final = (
    rf"{START}(?:curl|wget)\s[^\n\xff]*?(?:-u|--user|--proxy-user)[ =]?{Q}[^\s:\"'\xff]+:([^\s\"'\\\xff]+)",
    rf"{START}(?:https?|xh)\s{REST}(?:-a|--auth)[ =]{Q}[^\s:\"'\xff]+:([^\s\"'\\\xff]+)",
)
ACCOUNT_HINTS: Final = (r"(?:curl|wget|https?|xh)\s",)
KEY_COMMANDS: Final = (
    rf"{DASHES}(?:[a-z0-9]+-)*(?i:{DRAWN})[ =]{Q}([^\s\"'`\\,;<>\[\](){{}}\xff-][^\s\"'`\\,;<>\[\](){{}}\xff]{{11,}})",
    rf"{START}mc\s+(?:alias|config)\s+(?:set|host\s+add)\s+\S+\s+\S+\s+\S+\s+{Q}([^\s\"'`\\\xff]{{8,}})",
)
# `setx NAME VALUE`, `set -gx NAME VALUE`, `setenv NAME VALUE`, `ENV NAME VALUE`, `npm config set NAME VALUE`.
SET: Final = (
    rf"{START}(?:setx|setenv|set\s+-[a-zA-Z-]+|ENV|ARG|config(?:ure)?\s+set|config\s+--global)[ \t]+(?:-\S+[ \t]+)*"
)
SET_CHOSEN: Final = rf"{SET}{Q}[^\s=]*?(?i:{CHOSEN}){Q}[ \t]+{Q}([^\s\"'`\\\xff]{{6,}})"
SET_DRAWN: Final = rf"{SET}{Q}[^\s=]*?(?i:{DRAWN}){Q}[ \t]+{Q}([^\s\"'`\\\xff]{{12,}})"
