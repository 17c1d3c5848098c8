// Small text tools: joining, quoting, numbers and units, nearest names.  Used by messages, flags and the job
// file.
#ifndef PS_BASE_TEXT_H_
#define PS_BASE_TEXT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ps {

namespace text_internal {
std::string number(double value);  // shortest decimal that reads back the same
std::string number(float value);
}  // namespace text_internal

inline void append(std::string& out, std::string_view part) {
  out += part;
}
inline void append(std::string& out, char part) {
  out += part;
}
template <class Number>
requires std::is_arithmetic_v<Number>
void append(std::string& out, Number part) {
  if constexpr (std::is_same_v<Number, bool>) {
    out += part ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<Number>) {
    out += text_internal::number(part);
  } else {
    out += std::to_string(part);
  }
}

// Joins the parts; numbers are written with the shortest decimals that read back the same.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

// 'text', with bytes that do not print as \xNN, and cut after 80 bytes.
std::string quote(std::string_view text);

// Parses the whole of `text` as a number; returns nullopt on spaces or trailing bytes.  Doubles are finite
// decimals.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<uint64_t> parse_uint(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// Bytes: "64K", "1.5M", "2GiB" (binary).  Seconds: "50us", "250ms", "10s", "5m", "2h" or a plain number of
// seconds.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::optional<double> parse_seconds(std::string_view text);

// "1.5 GiB".
std::string human_bytes(uint64_t bytes);

// `value` with printf's "%.<digits>g".
std::string significant(double value, int digits);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

// Returns the candidate nearest to `name` by edit distance if it is near enough to be a typing error, else an
// empty string.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

// " (did you mean 'x'?)", or empty.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace ps

#endif  // PS_BASE_TEXT_H_
