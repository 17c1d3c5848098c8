#include "cli/help.h"

#include <algorithm>

#include "base/text.h"
#include "cli/version.h"

namespace ps {

namespace {

constexpr size_t kColumns = 80;
constexpr size_t kHelpColumn = 26;  // where the help of a flag begins

// Columns of UTF-8 text: continuation bytes take none.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// "  left      help, wrapped under itself"; a long left part has a line of its own.
std::string entry(const std::string& left, const std::string& help) {
  std::string out = "  " + left;
  size_t column = 2 + width_of(left);
  if (column + 2 > kHelpColumn && !help.empty()) {
    out += '\n';
    column = 0;
  }
  for (const std::string& line : wrap(help, kColumns - kHelpColumn)) {
    out.append(kHelpColumn - column, ' ');
    out += line + '\n';
    column = 0;
  }
  if (help.empty()) out += '\n';
  return out;
}

// "head text, wrapped under itself"
std::string hanging(std::string head, const std::string& text) {
  std::string out;
  for (const std::string& line : wrap(text, kColumns - head.size())) {
    out += head + line + '\n';
    head.assign(head.size(), ' ');
  }
  return out;
}

// A command line that can be copied from the screen: broken with backslashes when it is long.
std::string shell_lines(const std::string& command) {
  std::string out;
  for (const std::string& line : wrap(command, kColumns - 6)) {
    out += cat(out.empty() ? "  " : " \\\n    ", line);
  }
  return out + '\n';
}

std::string left_part(const Flag& flag) {
  std::string out = flag.letter ? cat("-", flag.letter, ", ") : "    ";
  out += flag_text(flag.name);
  if (!flag.argument.empty()) out += " " + flag.argument;
  return out;
}

std::string right_part(const Flag& flag) {
  std::string out = flag.help;
  if (!flag.choices.empty()) out += ": " + join(flag.choices, ", ");
  if (!flag.default_text.empty()) out += cat(" [", flag.default_text, "]");
  return out;
}

std::string right_part(const Positional& positional) {
  return positional.choices.empty() ? positional.help
                                    : cat(positional.help, ": ", join(positional.choices, ", "));
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (lines.empty() || width_of(lines.back()) + 1 + width_of(word) > width) {
      lines.emplace_back(word);
    } else {
      lines.back() += cat(" ", word);
    }
  }
  return lines;
}

std::vector<FlagGroup> flag_groups(const Program& program) {
  std::vector<FlagGroup> groups;
  FlagGroup general{"general", {}};
  for (const Flag& flag : all_flags(program)) {
    if (flag.hidden) continue;
    if (flag.group.empty() || flag.group == general.name) {
      general.flags.push_back(flag);
      continue;
    }
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const FlagGroup& group) { return group.name == flag.group; });
    if (found == groups.end()) found = groups.insert(groups.end(), {flag.group, {}});
    found->flags.push_back(flag);
  }
  groups.push_back(std::move(general));
  return groups;
}

namespace {

// The beginning of both kinds of help.
std::string help_head(const Program& program) {
  std::string out = hanging(cat(program.name, " - "), program.summary) + '\n';
  out += hanging(cat("usage: ", program.name, " "), program.synopsis);
  out += '\n';
  for (const Positional& positional : program.positionals)
    out += entry(positional.name, right_part(positional));
  return out;
}

}  // namespace

std::string brief_help_text(const Program& program) {
  std::string out = help_head(program);
  for (const FlagGroup& group : flag_groups(program)) {
    for (const Flag& flag : group.flags) {
      if (flag.brief) out += entry(left_part(flag), flag.help);
    }
  }
  if (!program.examples.empty()) out += cat("\nexample:\n", shell_lines(program.examples.front().command));
  return out + cat("\nAll flags: ", program.name, " --help-all.  More: man ", program.name, ".\n");
}

std::string help_text(const Program& program) {
  std::string out = help_head(program);
  for (const FlagGroup& group : flag_groups(program)) {
    out += cat("\n", group.name, ":\n");
    for (const Flag& flag : group.flags) out += entry(left_part(flag), right_part(flag));
  }
  if (!program.examples.empty()) out += "\nexamples:\n";
  for (const Example& example : program.examples) {
    if (!example.help.empty()) out += cat("  # ", example.help, "\n");
    out += shell_lines(example.command);
  }
  return out + cat("\nSee ", program.name, "(1) for more.\n");
}

std::string version_line(const Program& program) {
  std::string revision = *kRevision ? cat("git ", kRevision, ", ") : "";
  return cat(program.name, " ", kVersion, " (", revision, kLibraries, ")\n");
}

}  // namespace ps
