#!/bin/sh
# Checks that the core compiles for other systems. Only types and borrows are checked; nothing is linked or run.
# Usage: tools/other_systems.sh [TARGET...]      needs rustup, which fetches each target's standard library
set -u
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- x86_64-apple-darwin aarch64-apple-darwin x86_64-pc-windows-gnu
failed=0
for target in "$@"; do
    rustup target add "$target" >/dev/null 2>&1 || { echo "$target: rustup cannot add it"; failed=1; continue; }
    if cargo check --quiet --locked -p bloatlab-py --target "$target"; then echo "$target: compiles"; else failed=1; fi
done
exit "$failed"
