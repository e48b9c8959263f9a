#!/usr/bin/env bash
# Says in one line what is missing to make the virtual environment; exit 2.
set -u
python="${PYTHON:-python3}"
missing() { echo "cortex: $1" >&2; exit 2; }
command -v git >/dev/null || missing "git is missing; install it: apt-get install git"
command -v "$python" >/dev/null || missing "$python is missing; install it: apt-get install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  missing "$("$python" --version) is too old; install Python 3.11 or newer, or set PYTHON"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  missing "this Python has no venv; install it: apt-get install python3-venv"
