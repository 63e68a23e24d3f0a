#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to results: installs the missing packages (as root, or through sudo), builds the simulator
# without its tests, and runs
#   1. a small MLP and a small CNN that classify handwritten digits, dense and 2:4, every bit through the SystemC data
#      path, checked against Eigen;
#   2. BERT-Large, sequence length 384, batch 8, dense and 2:4, timing with sampled values checked against Eigen.
# Needs no GPU. Works from any directory and is safe to repeat. Options: -j N (compile jobs), --help.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$root/build/quickstart
jobs=$(nproc)

while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help)
      sed -n '3,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -j)
      jobs=${2:-}
      shift
      ;;
    -j*) jobs=${1#-j} ;;
    *)
      echo "quickstart.sh: unknown option '$1'; allowed: -j N, --help" >&2
      exit 2
      ;;
  esac
  shift
done
if ! [[ $jobs =~ ^[1-9][0-9]*$ ]]; then
  echo "quickstart.sh: -j needs a positive number, not '$jobs'" >&2
  exit 2
fi

heading() { printf '\n== %s\n' "$*"; }

run_and_show() {
  echo "\$ sptcsim $*"
  "$build_dir/sptcsim" "$@"
}

cd "$root"
heading "1/4 Packages"
scripts/install_dependencies.sh build

heading "2/4 Build in ${build_dir#"$root"/} ($jobs jobs)"
# Warnings are for developers (scripts/test.sh makes them errors); a newer compiler must not stop a first run.
cmake --preset release -B "$build_dir" -DSPTC_BUILD_TESTS=OFF -DSPTC_WERROR=OFF
cmake --build "$build_dir" --target sptcsim --parallel "$jobs"

heading "3/4 Digits: real values through the simulated tensor cores"
run_and_show run traces/digits/mlp.json --fidelity datapath --check eigen
run_and_show run traces/digits/cnn.json --fidelity datapath --check eigen

heading "4/4 BERT-Large"
run_and_show run traces/bert_large_s384_b8.json

heading "Done in $SECONDS s. The program is ${build_dir#"$root"/}/sptcsim; try: sptcsim run --help. Tests: scripts/test.sh"
