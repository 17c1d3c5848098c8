// The OPTIONS section of a manual page, as mdoc(7).  Used by the hidden --dump-man-options.
#ifndef PS_CLI_MANUAL_H_
#define PS_CLI_MANUAL_H_

#include <string>
#include <string_view>

#include "cli/program.h"

namespace ps {

// The text between the markers of man/man1/<program>.1: a subsection and a list for each group of flags.
std::string manual_options(const Program& program);

// `text` as lines of mdoc: escaped, wrapped, a new line for a new sentence.
std::string manual_text(std::string_view text);

}  // namespace ps

#endif  // PS_CLI_MANUAL_H_
