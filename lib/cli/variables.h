// Environment variables that begin with PS_: lists them, and warns of unknown ones.  Used by run_main.
#ifndef PS_CLI_VARIABLES_H_
#define PS_CLI_VARIABLES_H_

#include <string>
#include <vector>

#include "base/log.h"
#include "cli/program.h"

namespace ps {

// Names of all variables of this process that begin with PS_.
std::vector<std::string> process_variables();

// Warns of each variable that no flag of any program, no script and no test has: otherwise a misspelt one would
// be ignored silently.
void warn_of_unknown_variables(const Program& program, const std::vector<std::string>& names, Log& log);

}  // namespace ps

#endif  // PS_CLI_VARIABLES_H_
