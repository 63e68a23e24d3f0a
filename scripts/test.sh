#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds preset release with warnings as errors and runs every test that is not slow, the checks of format, include
# direction, type names and prose. Installs missing Debian packages (as root, or through sudo). Needs no GPU. Works
# from any directory and is safe to repeat. Prints one line per step at the end; exit 1 if one failed.
#
#   --slow     + the tests with the label slow
#   -j N       compile and test jobs (default: all processors)
#   --help     this text
set -uo pipefail

# shellcheck source=scripts/options.sh
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
slow=false
read_options "${BASH_SOURCE[0]}" 3 9 slow -- "$@"

summary=()
failures=0

# step <name> <command ...>: runs the command, remembers the outcome, goes on after a failure.
step() {
  local name=$1 started=$SECONDS outcome=ok
  shift
  printf '\n== %s\n' "$name"
  if ! "$@"; then
    outcome=FAILED
    failures=$((failures + 1))
  fi
  summary+=("$(printf '%-6s %5d s  %s' "$outcome" $((SECONDS - started)) "$name")")
}

build() {
  cmake --preset "$1" "${@:2}" && cmake --build --preset "$1" --parallel "$jobs"
}

run_tests() {
  ctest --preset "$1" --parallel "$jobs"
}

# An environment with nanobind, NumPy and ml_dtypes from PyPI, in build/python-environment. Without a network there is
# none, and the tests of the Python package are skipped.
python_environment() {
  local python=build/python-environment/bin/python packages=(nanobind numpy ml_dtypes) more=(optuna SALib distributed)
  if [[ -x $python ]] && "$python" -c "import ${packages[0]}, ${packages[1]}, ${packages[2]}" 2>/dev/null; then
    more_packages "$python" "${more[@]}"
    return
  fi
  if ! { python3 -m venv build/python-environment &&
    "$python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 "${packages[@]}"; }; then
    echo "No ${packages[*]} from PyPI: the tests of the Python package are skipped." >&2
    rm -rf build/python-environment
    return
  fi
  more_packages "$python" "${more[@]}"
}

# Packages of `pip install sptcsim[explore]`, for the interpreter that is the first argument.
more_packages() {
  local python=$1
  shift
  if ! "$python" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' "$@" &&
    ! "$python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 "$@"; then
    echo "No $* from PyPI: the tests of sptcsim.explore and of sweeps on Dask are skipped." >&2
  fi
}

# The test presets exclude the label, and a preset's filter cannot be widened from the command line.
run_slow_tests() {
  ctest --test-dir "build/$1" --label-regex '^slow$' --no-tests=ignore --output-on-failure --parallel "$jobs"
}

cd "$root" || exit 1
printf '== Packages\n'
scripts/install_dependencies.sh build test || exit 1

step "format" scripts/check_format.sh
step "include direction: the check itself" python3 scripts/check_includes.py --self-test
step "include direction" python3 scripts/check_includes.py
step "names of types: the check itself" python3 scripts/check_names.py --self-test
step "names of types" python3 scripts/check_names.py
step "prose: the check itself" python3 scripts/check_prose.py --self-test
step "prose" python3 scripts/check_prose.py
step "mutation check: faults fit the source" scripts/mutation_check.sh --fit
python_environment
release_options=()
if [[ -d build/python-environment ]]; then
  release_options+=("-DPython_EXECUTABLE=$root/build/python-environment/bin/python")
fi
step "build, release" build release "${release_options[@]}"
if [[ ${summary[-1]} == ok* ]]; then
  if $slow; then
    step "slow tests" run_slow_tests release
  fi
  # Last, so that ctest's closing summary stands right above ours.
  step "tests, release" run_tests release
fi

printf '\n== Summary\n'
printf '%s\n' "${summary[@]}"
if [[ $failures -gt 0 ]]; then
  echo "$failures of ${#summary[@]} steps FAILED in $SECONDS s."
  exit 1
fi
echo "All ${#summary[@]} steps passed in $SECONDS s."
