#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to results: installs the missing packages (as root, or through sudo), builds the simulator
# without its tests, and runs
#   1. a small MLP and a small CNN that classify handwritten digits, dense and 2:4, every bit through the SystemC data
#      path, checked against Eigen;
#   2. BERT-Large, sequence length 384, batch 8, dense and 2:4, timing with sampled values checked against Eigen.
# Needs no GPU. Works from any directory and is safe to repeat. Options: -j N (compile jobs), --help.
set -euo pipefail

# shellcheck source=scripts/options.sh
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
read_options "${BASH_SOURCE[0]}" 3 8 -- "$@"
build_dir=$root/build/quickstart

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
run_and_show run traces/bert_large.json --dim batch=8

heading "Done in $SECONDS s. The program is ${build_dir#"$root"/}/sptcsim; try: sptcsim run --help. Tests: scripts/test.sh"
