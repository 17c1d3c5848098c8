// Makes text from files and peers safe to print on a terminal.  Used by everything that writes messages.
#ifndef PS_BASE_PRINTABLE_H_
#define PS_BASE_PRINTABLE_H_

#include <string>
#include <string_view>

namespace ps {

// Returns the text with control characters written as \xNN, except tabs and ends of lines: they could move
// the cursor of a terminal, or rewrite lines that it shows.
std::string printable(std::string_view text);

}  // namespace ps

#endif  // PS_BASE_PRINTABLE_H_
