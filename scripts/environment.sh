# Sourced by the scripts in this folder, which set `root` (the checkout) and `purpose` (run, server or test).
# Creates or updates .venv if its stamp is older than the files it was made from; otherwise does nothing.

stamp=$root/.venv/ready-$purpose
made_for=
if [ -f "$stamp" ]; then read -r made_for <"$stamp" || :; fi
if [ "$made_for" != "$root" ] || [ "$root/uv.lock" -nt "$stamp" ] || [ "$root/pyproject.toml" -nt "$stamp" ]; then
  python=
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python=$candidate
      break
    fi
  done
  if [ -z "$python" ]; then
    echo "backscroll: needs Python 3.11 or newer, and found none on the PATH" >&2
    echo "  next: install it (https://www.python.org/downloads/) and run this command again" >&2
    exit 1
  fi
  "$python" "$root/scripts/environment.py" "$purpose" || exit 1
fi
unset stamp made_for python candidate
# Python keeps what it has compiled: otherwise each process would compile every module again.
unset PYTHONDONTWRITEBYTECODE
