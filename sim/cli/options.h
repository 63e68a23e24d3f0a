// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/simulation_options.h"

#include <CLI/CLI.hpp>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune {
struct PruneOptions;
}  // namespace sptc::prune

namespace sptc::cli {

/// An option, or an argument, that takes a word. What `value` holds is its default, and shown unless it is empty.
struct WordOption {
  const char* name;
  std::string& value;
  const char* type;
  std::string help;
  bool required = false;
};

void declare(CLI::App& command, std::initializer_list<WordOption> options);

/// Options of the table of sim/run/option_table.h that a command takes, as typed.
class TableOptions {
 public:
  /// Declares all of them on `command` but those called `without`.
  void add_all(CLI::App& command, std::initializer_list<std::string_view> without = {});
  void add(CLI::App& command, std::initializer_list<std::string_view> names);
  run::SimulationOptions parsed() const;

 private:
  std::map<std::string_view, std::string> texts_;  ///< by the name in the table
};

/// Declares --jobs, `what` are at once, on a command that has processes of its own.
void add_jobs(CLI::App& command, std::string& text, const std::string& what);
/// Workers that `text` of --jobs asks for; all processors where it is empty. Throws InputError.
int parse_jobs(const std::string& text);

/// Options of the commands that compare words of matrix instructions, as typed.
struct ComparisonOptions {
  std::string profile = "hardware";
  std::string format = "text";
  std::string out;

  void add_to(CLI::App& command);
  /// Throws InputError for an unknown format or profile, and where `out` cannot be written.
  void require_valid() const;
  bool is_json() const { return format == "json"; }
};

// Options that 'prune', 'plan' and 'convert' share; the values are read by those commands.

void add_activations(CLI::App& command, std::string& activations);
void add_criterion(CLI::App& command, std::string& criterion);
void add_report(CLI::App& command, std::string& report, std::string& format);
/// --transposed and --k-axis: where k is. --include: what names would leave dense.
void add_axes(CLI::App& command, prune::PruneOptions& options);
void add_include(CLI::App& command, prune::PruneOptions& options);

/// What stands between the commas of `list`, or another `mark`.
std::vector<std::string> parts_of(const std::string& list, char mark = ',');

std::vector<CLI::App*> children_of(CLI::App& command);
std::vector<std::string> long_options(const CLI::App& command);

/// The first option that is given to `command` and that `taken` does not name; "" where none is.
std::string given_beside(const CLI::App& command, std::initializer_list<std::string_view> taken);

/// Throws InputError where an option of `app` or its chosen commands, as parsed, has an empty value.
void check_given_options(const CLI::App& app);

}  // namespace sptc::cli
