#!/bin/sh
# Installs what the platform tests need, all of it under target/: quick when nothing has changed, nothing global.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
target=$(cd "$here/../../.." && pwd)/target
sam_cli=1.170.0 # its wheel carries AWS's Lambda runtime emulator

# fresh STAMP HASH: has this step been done for exactly this input?
fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }
hash_of() { sha256sum | cut -d' ' -f1; }

install_python_packages() {
    wanted=$( (python3 --version && cat "$here/requirements.txt") | hash_of)
    fresh "$target/venv/platforms.stamp" "$wanted" && return
    echo "platform tests: installing Python packages into target/venv (pytest, boto3, cargo-lambda, CloudEvents SDK, moto)"
    [ -x "$target/venv/bin/pip" ] && "$target/venv/bin/python" -c '' 2>/dev/null || python3 -m venv --clear "$target/venv"
    "$target/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
    echo "$wanted" >"$target/venv/platforms.stamp"
}

install_node_packages() {
    wanted=$( (node --version && cat "$here/package.json") | hash_of)
    fresh "$target/node/platforms.stamp" "$wanted" && return
    echo "platform tests: installing the JavaScript CloudEvents SDK into target/node"
    mkdir -p "$target/node"
    cp "$here/package.json" "$target/node/package.json"
    (cd "$target/node" && npm install --silent --no-package-lock --no-audit --no-fund --ignore-scripts)
    echo "$wanted" >"$target/node/platforms.stamp"
}

extract_lambda_emulator() {
    machine=$(uname -m)
    [ "$machine" = aarch64 ] && machine=arm64
    wanted="$sam_cli $machine"
    fresh "$target/tools/platforms.stamp" "$wanted" && return
    echo "platform tests: taking AWS's Lambda runtime emulator and sample events out of the aws-sam-cli $sam_cli wheel into target/tools"
    mkdir -p "$target/tools"
    wheels=$(mktemp -d)
    "$target/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --dest "$wheels" "aws-sam-cli==$sam_cli"
    "$target/venv/bin/python" "$here/extract_emulator.py" "$wheels" "$machine" "$target/tools"
    rm -r "$wheels"
    echo "$wanted" >"$target/tools/platforms.stamp"
}

mkdir -p "$target"
install_python_packages
install_node_packages
extract_lambda_emulator
