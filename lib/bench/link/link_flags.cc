#include "bench/link/link_flags.h"

#include <optional>

#include "base/text.h"
#include "bench/plan/columns.h"

namespace ps {

std::vector<int> integer_list(const Flags& flags, std::string_view name, int least, int most) {
  std::vector<int> numbers;
  for (const std::string& text : flags.list(name)) {
    const std::optional<int64_t> number = parse_int(text);
    if (!number || *number < least || *number > most)
      flags.refuse(name, cat(quote(text), " is not a number from ", least, " to ", most));
    numbers.push_back(static_cast<int>(*number));
  }
  if (numbers.empty()) flags.refuse(name, "expected at least one number");
  return numbers;
}

// The limits keep out rates without a unit, such as 10 for 10G.
std::vector<double> bandwidth_list(const Flags& flags) {
  constexpr double kLeastBandwidth = 1e5, kMostBandwidth = 1e12;
  std::vector<double> rates;
  for (const std::string& text : flags.list("bandwidth")) {
    const std::optional<double> rate = parse_decimal_rate(text);
    if (!rate || *rate < kLeastBandwidth || *rate > kMostBandwidth) {
      flags.refuse("bandwidth", cat(quote(text), " is not a rate from ", decimal_rate_text(kLeastBandwidth),
                                    " to ", decimal_rate_text(kMostBandwidth), ", such as 10G"));
    }
    rates.push_back(*rate);
  }
  if (rates.empty()) flags.refuse("bandwidth", "expected at least one, such as 10G");
  return rates;
}

}  // namespace ps
