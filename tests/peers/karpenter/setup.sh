#!/bin/sh
# Builds the oracle into target/peers, once for each state of its sources. The first build takes some minutes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out="$root/target/peers"

if ! command -v go >/dev/null; then
    echo "peers: Go 1.26.6 or newer is needed to build Karpenter's scheduler, and is not installed" >&2
    exit 1
fi
wanted=$( (go version && cat "$here"/*.go "$here/go.mod" "$here/go.sum") | sha256sum | cut -d' ' -f1)
if [ ! -x "$out/karpenter-oracle" ] || [ "$(cat "$out/karpenter-oracle.stamp" 2>/dev/null)" != "$wanted" ]; then
    echo "peers: building karpenter-oracle into target/peers (some minutes the first time)"
    mkdir -p "$out"
    (cd "$here" && nice -n 10 go build -trimpath -o "$out/karpenter-oracle" .)
    echo "$wanted" >"$out/karpenter-oracle.stamp"
fi
