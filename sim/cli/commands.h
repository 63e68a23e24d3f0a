// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sptc::cli {

/// What a chosen subcommand does; returns the exit code.
using Command = std::function<int()>;

// Each declares its subcommand on `app` and sets `chosen` when the user picks it.

/// sptcsim run FILE
void add_run_command(CLI::App& app, Command& chosen);
/// sptcsim import FILE
void add_import_command(CLI::App& app, Command& chosen);
/// sptcsim gemm M N K
void add_gemm_command(CLI::App& app, Command& chosen);
/// sptcsim arch list|show|validate
void add_arch_command(CLI::App& app, Command& chosen);
/// sptcsim energy list|show|area|design
void add_energy_command(CLI::App& app, Command& chosen);
/// sptcsim verify DIR
void add_verify_command(CLI::App& app, Command& chosen);
/// sptcsim microbench
void add_microbench_command(CLI::App& app, Command& chosen);
/// sptcsim crosscheck DIR, sptcsim crosscheck --kernel FILE
void add_crosscheck_command(CLI::App& app, Command& chosen);
/// sptcsim sweep SPEC, and sweep plan|status|merge|report|emit
void add_sweep_command(CLI::App& app, Command& chosen);
/// sptcsim validate CSV
void add_validate_command(CLI::App& app, Command& chosen);
/// sptcsim mma
void add_mma_command(CLI::App& app, Command& chosen);

/// sptcsim convert MODEL
void add_convert_command(CLI::App& app, Command& chosen);
/// sptcsim legal MODEL, sptcsim legal M N K
void add_legal_command(CLI::App& app, Command& chosen);
/// sptcsim prune MODEL
void add_prune_command(CLI::App& app, Command& chosen);
/// sptcsim compare FILE
void add_compare_command(CLI::App& app, Command& chosen);
/// sptcsim show INSTRUCTION
void add_show_command(CLI::App& app, Command& chosen);

}  // namespace sptc::cli
