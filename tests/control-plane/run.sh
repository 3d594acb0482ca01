#!/bin/sh
# The suites on a real control plane. Where there can be none they are skipped, loudly; with REQUIRE_CONTROL_PLANE=1 that fails.
set -eu
cd "$(dirname "$0")/../.."

code=0
target/debug/control-plane build || code=$?
if [ "$code" = 3 ] && [ "${REQUIRE_CONTROL_PLANE:-}" != 1 ]; then
    echo "################################################################################"
    echo "# SKIPPED: nothing was tested on a real control plane. Why stands above.       #"
    echo "# REQUIRE_CONTROL_PLANE=1 makes this a failure.                                #"
    echo "################################################################################"
    exit 0
fi
[ "$code" = 0 ] || exit "$code"
sh tests/peers/power/setup.sh
# One suite after the other: each has a control plane of its own, and some of them stop its parts.
for suite in crds lives going faults rights compare; do
    POWER_PEERS="$PWD/target/power-peers/bin" cargo test --quiet --workspace --test "$suite" -- --ignored --nocapture --test-threads=16
done
