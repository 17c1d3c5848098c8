#include "base/pattern.h"

namespace ps {

bool is_pattern(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

// Each * first matches no character, and one character more whenever the rest does not match.  Only the last *
// that was met has to be tried again, since a longer match of an earlier one could not help.
bool matches_pattern(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ps
