#!/bin/sh
# Holds what the Scaleway provider sends against an OpenAPI document, with Prism, which is not ours. Installs into target/.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
prism="$root/target/prism"

if [ -z "${SCALEWAY_OPENAPI:-}" ]; then
    echo "scaleway-peer: skipped: SCALEWAY_OPENAPI names no file (the OpenAPI document of Scaleway's Instance API, v1)"
    exit 0
fi
if [ ! -r "$SCALEWAY_OPENAPI" ]; then
    echo "scaleway-peer: SCALEWAY_OPENAPI=$SCALEWAY_OPENAPI cannot be read: give the path of a file" >&2
    exit 1
fi
SCALEWAY_OPENAPI=$(realpath "$SCALEWAY_OPENAPI")

wanted=$( (node --version && cat "$here/package.json") | sha256sum | cut -d' ' -f1)
if [ ! -f "$prism/stamp" ] || [ "$(cat "$prism/stamp")" != "$wanted" ]; then
    echo "scaleway-peer: installing Prism into target/prism"
    mkdir -p "$prism"
    cp "$here/package.json" "$prism/package.json"
    (cd "$prism" && npm install --silent --no-package-lock --no-audit --no-fund --ignore-scripts)
    echo "$wanted" >"$prism/stamp"
fi

export SCALEWAY_OPENAPI PRISM="$prism/node_modules/.bin/prism"
cd "$root"
cargo test --quiet --package provider-scaleway --test openapi -- --ignored --nocapture --test-threads 1
