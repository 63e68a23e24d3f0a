// SPDX-License-Identifier: Apache-2.0
//
// The program `sptcsim`. Its main() calls sc_main(), which libsystemc asks for. Exit codes: 0 done
// and right, 1 a check failed, 2 bad usage or bad input, 3 internal error, 130 interrupted.
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/named_file.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/report/version.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <systemc>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using sptc::base::InputError;
using sptc::cli::Command;

/// SystemC's remarks do not belong among results: informal ones are dropped, warnings go to stderr, errors throw.
void on_report(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (report.get_severity() >= sc_core::SC_ERROR) {
    sc_core::sc_report_handler::default_handler(report, actions & ~sc_core::SC_DISPLAY);
  } else if (report.get_severity() == sc_core::SC_WARNING && (actions & sc_core::SC_DISPLAY) != 0) {
    sptc::report::write_message(fmt::format("sptcsim: warning: {}: {}\n", report.get_msg_type(), report.get_msg()));
  }
}

bool is_negative_number(std::string_view text) {
  return text.size() > 1 && text[0] == '-' &&
         (std::isdigit(static_cast<unsigned char>(text[1])) != 0 || text[1] == '.');
}

/// "--seed -5" as "--seed=-5": a negative value is then refused by its option and not taken for a flag.
std::vector<std::string> joined_arguments(int argc, char** argv) {
  std::vector<std::string> result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    const bool follows_option =
        !result.empty() && result.back().starts_with("--") && result.back().find('=') == std::string::npos;
    if (is_negative_number(text) && follows_option) {
      result.back() += "=" + std::string(text);
    } else {
      result.emplace_back(text);
    }
  }
  std::reverse(result.begin(), result.end());  // as CLI11 wants them
  return result;
}

/// The subcommands that the user chose, outermost first; `app` itself where there is none.
CLI::App* innermost(CLI::App* app) {
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
  }
  return app;
}

/// "sweep plan"; of the program itself its name.
std::string called(const CLI::App* command) {
  const CLI::App* const outer = command->get_parent();
  return outer == nullptr || outer->get_parent() == nullptr ? command->get_name()
                                                            : called(outer) + " " + command->get_name();
}

std::vector<std::string> names_below(CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* child : sptc::cli::children_of(*app)) {
    names.push_back(child->get_name());
  }
  return names;
}

std::string unknown_command(const std::vector<std::string>& names, std::string_view word) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return "unknown command " + sptc::base::unknown_name(word, views);
}

/// "validate, sweep, sweep plan": the commands below `app`, which is called `outer`, that have the
/// option `name`; "" where none has.
std::string commands_with(const CLI::App& app, const std::string& name, const std::string& outer = "") {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string called = outer + command->get_name();
    const auto options = command->get_options();
    if (std::any_of(options.begin(), options.end(),
                    [&](const CLI::Option* option) { return option->check_name(name); })) {
      commands.push_back(called);
    }
    if (const std::string inner = commands_with(*command, name, called + " "); !inner.empty()) {
      commands.push_back(inner);
    }
  }
  return fmt::format("{}", fmt::join(commands, ", "));
}

/// Throws InputError for the first argument that nothing understood.
void refuse_extras(CLI::App* app) {
  CLI::App* command = innermost(app);
  std::vector<std::string> extras = command->remaining();
  if (extras.empty()) {
    extras = app->remaining(true);
  }
  if (extras.empty()) {
    return;
  }
  const std::string first = sptc::io::printable(extras.front());
  const std::string where = called(command);
  if (is_negative_number(first)) {
    throw InputError(fmt::format("{}: '{}' is negative; sizes are positive integers", where, first));
  }
  if (first.starts_with("-")) {
    const std::vector<std::string> names = sptc::cli::long_options(*command);
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string name = first.substr(0, first.find('='));
    const CLI::Option* const format = command->get_option_no_throw("--format");
    const bool is_format = name == "--json" || name == "--csv";
    if (is_format && format != nullptr && format->get_type_name().find(name.substr(2)) != std::string::npos) {
      throw InputError(fmt::format("unknown option '{}'; '--format {}' prints that", name, name.substr(2)));
    }
    const std::string others = commands_with(*app, name);
    throw InputError("unknown option " +
                     sptc::base::unknown_name(name, views, others.empty() ? "" : "an option of " + others));
  }
  if (std::vector<std::string> inner = names_below(command); !inner.empty()) {
    const auto options = command->get_options();
    const auto file = std::find_if(options.begin(), options.end(),
                                   [](const CLI::Option* one) { return one->get_positional() && !one->empty(); });
    if (file != options.end()) {  // "sweep run a.json": SPEC took the word before
      const std::string word = sptc::io::printable((*file)->results().front());
      throw InputError(sptc::config::is_path(word) ? fmt::format("{}: unexpected argument '{}'", where, first)
                                                   : unknown_command(inner, word));
    }
    if (command != app && sptc::config::is_path(first)) {
      throw InputError(fmt::format("{}: one of {} stands before '{}'", where, fmt::join(inner, ", "), first));
    }
    if (command == app) {
      inner.emplace_back("help");
    }
    throw InputError(unknown_command(inner, first));
  }
  throw InputError(fmt::format("{}: unexpected argument '{}'", where, first));
}

/// What CLI11 says of a command line: "sweep plan: SPEC is required", "run: --html needs a value:
/// FILE", "gemm: --dtype is given more than once".
std::string sentence_of(const CLI::ParseError& error, CLI::App& app) {
  constexpr std::string_view kNoValue = ": 1 required ", kMissing = " missing";
  constexpr std::string_view kRepeated = ": At Most 1 required but received ";
  std::string sentence = error.what();
  if (const std::size_t at = sentence.find(kNoValue); at != std::string::npos && sentence.ends_with(kMissing)) {
    sentence.resize(sentence.size() - kMissing.size());
    sentence.replace(at, kNoValue.size(), " needs a value: ");
  } else if (const std::size_t repeated = sentence.find(kRepeated); repeated != std::string::npos) {
    sentence.replace(repeated, std::string::npos, " is given more than once");
  }
  const CLI::App* const command = innermost(&app);
  return command == &app ? sentence : called(command) + ": " + sentence;
}

/// The help that `words` ask for: "help" and the names of a command, or "--completion" and a shell. Throws InputError.
std::string help_of(CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() >= 2 && words[1] == "--completion") {
    return sptc::cli::completion(app, words.size() > 2 ? words[2] : "");
  }
  CLI::App* command = &app;
  std::string outer;
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    const auto inner = command->get_subcommands([&](const CLI::App* child) { return child->get_name() == *word; });
    if (inner.empty()) {
      throw InputError(unknown_command(names_below(command), sptc::io::printable(*word)));
    }
    outer += (outer.empty() ? "" : " ") + command->get_name();
    command = inner.front();
  }
  return command->help(outer);
}

void add_commands(CLI::App& app, Command& chosen) {
  using namespace sptc::cli;
  for (const auto add : {add_run_command, add_gemm_command, add_arch_command, add_import_command, add_energy_command,
                         add_verify_command, add_validate_command, add_compare_command, add_show_command,
                         add_prune_command, add_plan_command, add_convert_command, add_legal_command, add_mma_command,
                         add_microbench_command, add_crosscheck_command, add_sweep_command}) {
    add(app, chosen);
  }
}

/// Commands without a progress bar take --quiet as the others do.
void accept_quiet(CLI::App& app) {
  const std::vector<CLI::App*> inner = sptc::cli::children_of(app);
  for (CLI::App* const command : inner) {
    accept_quiet(*command);
  }
  if (inner.empty() && app.get_option_no_throw("--quiet") == nullptr) {
    app.add_flag("--quiet")->description("no progress bar; this command has none");
  }
}

int run(int argc, char** argv) {
  CLI::App app("Cycle-level simulator of dense and 2:4 sparse tensor cores, with values checked.", "sptcsim");
  app.set_version_flag("--version", "sptcsim " + std::string(sptc::report::program_version()));
  app.footer(
      "'help COMMAND' lists its options, 'help --completion bash' or 'zsh' writes what a\n"
      "shell completes.");
  app.allow_extras();
  Command chosen;
  add_commands(app, chosen);
  app.require_subcommand(0, 1);  // "sweep run" is not "run"
  accept_quiet(app);
  for (CLI::App* command : sptc::cli::children_of(app)) {
    command->allow_extras();
    command->require_subcommand(0, 1);
    for (CLI::App* inner : sptc::cli::children_of(*command)) {
      inner->allow_extras();
    }
  }
  std::vector<std::string> words = joined_arguments(argc, argv);
  if (!words.empty() && words.back() == "help") {
    std::reverse(words.begin(), words.end());
    sptc::cli::write_result({}, help_of(app, words));
    return 0;
  }
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      std::ostringstream text;  // of --help, --version
      app.exit(error, text, text);
      sptc::cli::write_result({}, text.str());
      return 0;
    }
    refuse_extras(&app);
    throw InputError(sentence_of(error, app));
  }
  refuse_extras(&app);
  if (!chosen) {
    CLI::App* command = innermost(&app);
    const std::string of = command == &app ? "" : called(command) + ": ";
    throw InputError(fmt::format("{}a command is missing ({}); see --help", of, fmt::join(names_below(command), ", ")));
  }
  sptc::cli::check_given_options(app);
  return chosen();
}

}  // namespace

int sc_main(int argc, char** argv) {
  sptc::cli::keep_arguments(argc, argv);
  sc_core::sc_report_handler::set_handler(on_report);
  try {
    return run(argc, argv);
  } catch (...) {
    return sptc::report::report_exception();
  }
}

int main(int argc, char** argv) {
  sptc::cli::handle_interrupts();
  sptc::cli::open_closed_streams();
  return sc_main(argc, argv);
}
