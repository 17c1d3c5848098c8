// Text for --help and --version.  Used by run_main.
#ifndef PS_CLI_HELP_H_
#define PS_CLI_HELP_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"

namespace ps {

// Usage, arguments, flags by group and examples, in 80 columns.
std::string help_text(const Program& program);

// The same for the most used flags, without groups, and with the first example: a screen of 24 lines.
std::string brief_help_text(const Program& program);

// "ps-train 0.1.0 (git 1a2b3c4, boost 1.81.0, …)", one line.
std::string version_line(const Program& program);

// The visible flags under their headings, in the order of first mention; "general" comes last.
struct FlagGroup {
  std::string name;
  std::vector<Flag> flags;
};
std::vector<FlagGroup> flag_groups(const Program& program);

// `text` broken at spaces into lines of at most `width` columns (one word may be longer).  UTF-8 counts by
// character.
std::vector<std::string> wrap(std::string_view text, size_t width);

}  // namespace ps

#endif  // PS_CLI_HELP_H_
