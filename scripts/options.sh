# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by scripts that compile: sets `root` (of the repository) and `jobs` (all processors, or -j N).
#
# read_options SCRIPT FIRST LAST [SWITCH ...] -- ARGUMENTS: lines FIRST to LAST of SCRIPT are its help; --SWITCH sets the
# variable SWITCH to true.

# shellcheck disable=SC2034 # the scripts use it
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

read_options() {
  local script=$1 help=$2,$3 switch known allowed="" switches=()
  shift 3
  while [[ $1 != -- ]]; do
    switches+=("$1")
    allowed+="--$1, "
    shift
  done
  shift
  while [[ $# -gt 0 ]]; do
    case $1 in
      -h | --help)
        sed -n "${help}s/^# \{0,1\}//p" "$script"
        exit 0
        ;;
      -j)
        jobs=${2:-}
        shift
        ;;
      -j*) jobs=${1#-j} ;;
      *)
        known=false
        for switch in "${switches[@]}"; do
          if [[ $1 == "--$switch" ]]; then
            printf -v "$switch" true
            known=true
          fi
        done
        if ! $known; then
          echo "$(basename "$script"): unknown option '$1'; allowed: $allowed-j N, --help" >&2
          exit 2
        fi
        ;;
    esac
    shift || break
  done
  if ! [[ $jobs =~ ^[1-9][0-9]*$ ]]; then
    echo "$(basename "$script"): -j needs a positive number, not '$jobs'" >&2
    exit 2
  fi
}
