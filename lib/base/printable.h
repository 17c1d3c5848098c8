// Text from elsewhere, made fit for a terminal.  Used by whatever writes messages.
#ifndef PS_BASE_PRINTABLE_H_
#define PS_BASE_PRINTABLE_H_

#include <string>
#include <string_view>

namespace ps {

// The text with control characters but tabs and ends of lines, which could move the cursor of a terminal or
// rewrite what it shows, as \xNN.
std::string printable(std::string_view text);

}  // namespace ps

#endif  // PS_BASE_PRINTABLE_H_
