#!/usr/bin/env bash
# The browser the pages are tested in: Debian's chromium, where it is not there already.
set -u
command -v chromium >/dev/null || command -v google-chrome >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "cortex: chromium is missing; install it: sudo apt-get install chromium" >&2
  exit 2
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
