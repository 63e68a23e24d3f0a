// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <vector>

namespace sptc::cli {
namespace {

/// A command, and its name behind that of the program: "sweep report"; "" for the program.
using CommandVisitor = std::function<void(CLI::App& command, const std::string& name)>;

void visit_commands(CLI::App& command, const std::string& name, const CommandVisitor& visit) {
  visit(command, name);
  for (CLI::App* child : children_of(command)) {
    visit_commands(*child, name + (name.empty() ? "" : " ") + child->get_name(), visit);
  }
}

bool is_positional(const CLI::Option& option) {
  return option.get_lnames().empty() && option.get_snames().empty();
}

/// "csv|markdown|html" as its words; empty where the type is none of such.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::vector<std::string> choices;
  if (type.find('|') == std::string::npos) {
    return choices;
  }
  for (const std::string& word : parts_of(type, '|')) {
    const bool is_word =
        std::none_of(word.begin(), word.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == ':'; });
    if (is_word && !word.empty()) {
      choices.push_back(word);
    }
  }
  return choices;
}

bool takes_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find("FILE") != std::string::npos || type.find("DIR") != std::string::npos;
}

std::vector<std::string> words_of(CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* child : children_of(command)) {
    words.push_back(child->get_name());
  }
  if (command.get_parent() == nullptr) {
    words.emplace_back("help");
  }
  std::ranges::copy(long_options(command), std::back_inserter(words));
  return words;
}

/// Cases of the option before the word that is completed.
std::string bash_values(CLI::App& command) {
  std::string cases;
  for (const CLI::Option* option : command.get_options()) {
    if (is_positional(*option) || option->get_items_expected_max() == 0) {
      continue;
    }
    const std::vector<std::string> choices = choices_of(*option);
    const std::string& name = option->get_lnames().front();
    std::string reply = "return 0";  // a number, or a name that nobody knows
    if (name == "arch") {
      reply =
          "COMPREPLY=($(compgen -W \"$(sptcsim arch list --names 2>/dev/null)\" -- \"$cur\") "
          "$(compgen -f -- \"$cur\")); return 0";
    } else if (!choices.empty()) {
      reply = fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\")); return 0",
                          shell_quoted(fmt::format("{}", fmt::join(choices, " "))));
    } else if (takes_file(*option)) {
      reply = "COMPREPLY=($(compgen -f -- \"$cur\")); return 0";
    }
    cases += fmt::format("        --{}) {} ;;\n", name, reply);
  }
  return cases;
}

std::string bash_completion(CLI::App& app) {
  std::string paths, commands;
  visit_commands(app, "", [&](CLI::App& command, const std::string& name) {
    for (const CLI::App* child : children_of(command)) {
      paths += fmt::format("      {}) path={} ;;\n", shell_quoted(name + "/" + child->get_name()),
                           shell_quoted(name + (name.empty() ? "" : " ") + child->get_name()));
    }
    const std::string values = bash_values(command);
    commands += fmt::format("    {})\n", shell_quoted(name));
    if (!values.empty()) {
      commands += fmt::format("      case \"$prev\" in\n{}      esac\n", values);
    }
    commands += fmt::format("      words={} ;;\n", shell_quoted(fmt::format("{}", fmt::join(words_of(command), " "))));
  });
  return fmt::format(
      "# bash completion of sptcsim, written by 'sptcsim help --completion bash'\n"
      "_sptcsim() {{\n"
      "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local path='' words='' word\n"
      "  COMPREPLY=()\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$path/$word\" in\n{}    esac\n"
      "  done\n"
      "  case \"$path\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  [[ \"$cur\" == -* || -z \"$path\" ]] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
      "}}\n"
      "complete -o filenames -F _sptcsim sptcsim\n",
      paths, commands);
}

/// Text without what _arguments reads as its own.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += (c == '[' || c == ']' || c == ':' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  }
  return out;
}

std::string zsh_specification(const CLI::Option& option) {
  std::string value;
  if (option.get_items_expected_max() > 0) {
    const std::vector<std::string> choices = choices_of(option);
    const bool is_arch = option.get_lnames().front() == "arch";
    const std::string action = is_arch              ? "_sptcsim_arch"
                               : !choices.empty()   ? fmt::format("({})", fmt::join(choices, " "))
                               : takes_file(option) ? "_files"
                                                    : " ";
    value = fmt::format(":{}:{}", zsh_text(option.get_type_name()), action);
  }
  return shell_quoted(
      fmt::format("--{}[{}]{}", option.get_lnames().front(), zsh_text(option.get_description()), value));
}

std::string zsh_function(std::string command) {
  std::ranges::replace_if(
      command, [](char c) { return c == ' ' || c == '-'; }, '_');
  return "_sptcsim_command_" + command;
}

std::string zsh_completion(CLI::App& app) {
  std::string functions;
  visit_commands(app, "", [&](CLI::App& command, const std::string& name) {
    const std::string id = zsh_function(name);
    std::string specifications;
    for (const CLI::Option* option : command.get_options()) {
      if (!is_positional(*option) && !option->get_lnames().empty()) {
        specifications += " \\\n    " + zsh_specification(*option);
      }
    }
    const std::vector<CLI::App*> children = children_of(command);
    if (children.empty()) {
      functions += fmt::format("{}() {{\n  _arguments{} \\\n    '*:file:_files'\n}}\n", id, specifications);
      return;
    }
    std::string names, cases;
    for (const CLI::App* child : children) {
      names += fmt::format(" {}", shell_quoted(zsh_text(child->get_name()) + ":" + zsh_text(child->get_description())));
      cases += fmt::format("      {}) {} ;;\n", child->get_name(),
                           zsh_function((name.empty() ? "" : name + " ") + child->get_name()));
    }
    functions += fmt::format(
        "{}() {{\n  local -a commands=({})\n  local state line\n"
        "  _arguments -C{} \\\n    '1: :->command' '*:: :->rest'\n"
        "  case $state in\n"
        "    command) _describe command commands; _files ;;\n"
        "    rest) case $line[1] in\n{}      *) _files ;;\n    esac ;;\n  esac\n}}\n",
        id, names, specifications, cases);
  });
  return "#compdef sptcsim\n# zsh completion of sptcsim, written by 'sptcsim help --completion "
         "zsh'\n_sptcsim_arch() {\n  compadd -- ${(f)\"$(sptcsim arch list --names "
         "2>/dev/null)\"}\n  _files\n}\n" +
         functions + "_sptcsim_command_ \"$@\"\n";
}

}  // namespace

std::string completion(CLI::App& app, const std::string& shell) {
  constexpr std::array<std::string_view, 2> kShells{"bash", "zsh"};
  io::place_among(kShells, shell, "--completion: unknown shell");
  return shell == "bash" ? bash_completion(app) : zsh_completion(app);
}

}  // namespace sptc::cli
