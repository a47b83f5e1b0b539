#!/bin/sh
# Lists the programs that a build needs and this machine lacks, each with the Debian package that contains it.
# Usage: tools/preflight.sh PYTHON python|rust|lint|web|TARGET...   (TARGET: a target of Rust, such as wasm32-unknown-unknown)
set -u
python=$1
shift
missing=0

# Prints rustup's command if rustup is installed, otherwise the Debian package.
rust_lack() { # what, rustup's command, Debian package, note
    if command -v rustup >/dev/null 2>&1; then
        printf 'bloatlab: %s is missing. Run: %s\n' "$1" "$2" >&2
        missing=1
    else
        lack "$1" "$3" "$4"
    fi
}

lack() { # what, Debian package, note
    printf 'bloatlab: %s is missing. On Debian or Ubuntu: apt-get install %s%s\n' "$1" "$2" "${3:+  ($3)}" >&2
    missing=1
}

check_python() {
    if ! command -v "$python" >/dev/null 2>&1; then
        lack "Python ($python)" "python3 python3-venv" "3.11 or newer; make PYTHON=/path/to/python3 uses another"
        return
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || { lack "a working $python" python3; return; }
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        lack "Python 3.11 or newer ($python is $version)" "python3.11 python3.11-venv" "then make PYTHON=python3.11"
    for module in venv ensurepip; do
        "$python" -c "import $module" 2>/dev/null ||
            lack "the Python module $module of $python" "python$version-venv" "or python3-venv"
    done
}

check_rust() {
    command -v cc >/dev/null 2>&1 || lack "a C compiler and linker (cc)" "gcc libc6-dev"
    if ! command -v cargo >/dev/null 2>&1; then
        rust_lack "the Rust toolchain (cargo)" "rustup default stable" "cargo" "or rustup, package rustup, for a newer one"
        return
    fi
    want=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    have=$(rustc --version 2>/dev/null | sed 's/^rustc \([0-9]*\.[0-9]*\).*/\1/')
    [ -n "$have" ] || { rust_lack "the Rust compiler (rustc)" "rustup default stable" "rustc" "or rustup"; return; }
    oldest=$(printf '%s\n%s\n' "${want:-0}" "$have" | sort -V | head -n 1)
    [ "$oldest" = "${want:-0}" ] ||
        rust_lack "Rust $want or newer (rustc is $have)" "rustup update stable && rustup default stable" "rustup" "then rustup default stable"
}

check_lint() {
    cargo fmt --version >/dev/null 2>&1 ||
        rust_lack "cargo fmt" "rustup component add rustfmt" "rustfmt" "or rustup component add rustfmt"
    cargo clippy --version >/dev/null 2>&1 ||
        rust_lack "cargo clippy" "rustup component add clippy" "rust-clippy" "or rustup component add clippy"
}

check_web() {
    command -v npm >/dev/null 2>&1 || lack "npm" "npm"
    if ! command -v node >/dev/null 2>&1; then
        lack "Node" "nodejs"
    else
        node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' ||
            lack "Node 18 or newer (node is $(node --version))" "nodejs"
    fi
    check_target wasm32-unknown-unknown
}

check_target() {
    [ -d "$(rustc --print target-libdir --target "$1" 2>/dev/null)" ] ||
        rust_lack "Rust's target $1" "rustup target add $1" "rustup" "then rustup target add $1"
}

for part in "$@"; do
    case $part in
    *-*) check_target "$part" ;;
    *) "check_$part" ;;
    esac
done
exit "$missing"
