#include "base/count_text.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace ps {

std::optional<int64_t> parse_count(std::string_view text) {
  constexpr double kMost = 0x1p53;  // whole numbers above it would be rounded
  // Whole numbers without a unit are exact up to 64 bits; all others go through a double.
  if (std::optional<int64_t> plain = parse_int(text)) return plain;
  static constexpr std::string_view kUnits = "kMGT";
  const size_t unit =
      text.empty() ? std::string_view::npos : kUnits.find(text.back() == 'K' ? 'k' : text.back());
  double scale = 1;
  if (unit != std::string_view::npos) {
    text.remove_suffix(1);
    for (size_t i = 0; i <= unit; ++i) scale *= 1000;
  }
  const std::optional<double> value = parse_double(text);
  if (!value || std::fabs(*value * scale) > kMost) return std::nullopt;
  const double count = std::round(*value * scale);
  // Products such as 1.1 x 1000 are whole but for rounding, and so may differ by a small share.
  if (std::fabs(count - *value * scale) > 1e-9 * std::max(1.0, std::fabs(count))) return std::nullopt;
  return static_cast<int64_t>(count);
}

}  // namespace ps
