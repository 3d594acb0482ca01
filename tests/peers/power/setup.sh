#!/bin/sh
# Installs the power back ends that others wrote, all of it under target/power-peers: quick when nothing has changed.
# Where pip reaches no packages this fails, and so does `make test`: a peer that was not there has proved nothing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venv=$(cd "$here/../../.." && pwd)/target/power-peers

wanted=$( (python3 --version && cat "$here/requirements.txt") | sha256sum | cut -d' ' -f1)
if [ -f "$venv/power.stamp" ] && [ "$(cat "$venv/power.stamp")" = "$wanted" ]; then
    exit 0
fi
echo "power peers: installing Python packages into target/power-peers (sushy-tools, maaspower)"
python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
echo "$wanted" >"$venv/power.stamp"
