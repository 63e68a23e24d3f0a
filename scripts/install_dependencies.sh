#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that sptcsim needs and that are missing. Safe to repeat: with nothing missing it changes
# nothing, needs no network and no root.
#
#   scripts/install_dependencies.sh build           compiler, CMake, libraries (scripts/quickstart.sh)
#   scripts/install_dependencies.sh build test      + GoogleTest, RapidCheck, clang-format, valgrind (scripts/test.sh)
#   scripts/install_dependencies.sh build test tidy + clang, clang-tidy
#   scripts/install_dependencies.sh python          what `pip install .` needs beside the packages of build
#   scripts/install_dependencies.sh hardware        what scripts/hardware_capture.sh needs beside the CUDA toolkit
set -euo pipefail

build_packages=(build-essential cmake ninja-build libsystemc-dev libboost-dev libeigen3-dev nlohmann-json3-dev
                libcli11-dev libfmt-dev libhwy-dev libsqlite3-dev libre2-dev libxxhash-dev zlib1g-dev libarchive-dev)
python_packages=(python3-dev python3-venv)
test_packages=(libgtest-dev librapidcheck-dev libbenchmark-dev clang-format python3 python3-jsonschema git valgrind
               "${python_packages[@]}")
tidy_packages=(clang clang-tidy)
hardware_packages=(build-essential cmake ninja-build nlohmann-json3-dev libcli11-dev libfmt-dev libhwy-dev)

if [[ $# -eq 0 || $1 == -h || $1 == --help ]]; then
  sed -n '3,10s/^# \{0,1\}//p' "$0"
  exit 0
fi

wanted=()
for group in "$@"; do
  case $group in
    build) wanted+=("${build_packages[@]}") ;;
    test) wanted+=("${test_packages[@]}") ;;
    tidy) wanted+=("${tidy_packages[@]}") ;;
    python) wanted+=("${python_packages[@]}") ;;
    hardware) wanted+=("${hardware_packages[@]}") ;;
    *)
      echo "install_dependencies.sh: unknown group '$group'; allowed: build, test, tidy, python, hardware" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "This is not Debian or a relative: nothing installed. Needed, by their Debian names: ${wanted[*]}" >&2
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "All ${#wanted[@]} packages are installed."
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "Missing packages: ${missing[*]}. Install them as root (there is no sudo here), then run this again." >&2
    exit 1
  fi
  as_root=(sudo)
fi

install_missing() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends "${missing[@]}"
}

echo "Installing ${#missing[@]} missing packages: ${missing[*]}"
# The package lists of a fresh image are empty, those of a used machine are often good enough: update only if needed.
if ! apt-get install --simulate --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
  "${as_root[@]}" apt-get update
  install_missing
elif ! install_missing; then
  echo "Package lists look out of date; updating them and trying once more."
  "${as_root[@]}" apt-get update
  install_missing
fi
