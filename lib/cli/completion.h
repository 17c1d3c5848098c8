// Completions for shells.  Used by the hidden --dump-completion.
#ifndef PS_CLI_COMPLETION_H_
#define PS_CLI_COMPLETION_H_

#include <string>
#include <string_view>

#include "cli/program.h"

namespace ps {

// A script that makes `shell` (bash, zsh or fish) complete the program's flags, choices, files and folders.
// Throws kUsage for another shell.
std::string completion(const Program& program, std::string_view shell);

}  // namespace ps

#endif  // PS_CLI_COMPLETION_H_
