#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace ps {

namespace text_internal {

template <class Float>
static std::string shortest(Float value) {
  char buffer[64];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

std::string number(double value) {
  return shortest(value);
}
std::string number(float value) {
  return shortest(value);
}

}  // namespace text_internal

std::string quote(std::string_view text) {
  constexpr size_t kMaxQuoted = 80;
  std::string out = "'";
  for (char c : text.substr(0, kMaxQuoted)) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      out += c;
    } else {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned char>(c));
      out += buffer;
    }
  }
  if (text.size() > kMaxQuoted) out += "...";
  return out + "'";
}

template <class Integer>
static std::optional<Integer> parse_whole(std::string_view text) {
  Integer value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_int(std::string_view text) {
  return parse_whole<int64_t>(text);
}
std::optional<uint64_t> parse_uint(std::string_view text) {
  return parse_whole<uint64_t>(text);
}

// from_chars takes no plus sign, and would read "+-1" without it as a number.
std::optional<double> parse_double(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(text.starts_with("+-") ? 0 : 1);
  std::optional<double> value = parse_whole<double>(text);
  if (value && !std::isfinite(*value)) return std::nullopt;
  return value;
}

namespace {

struct Unit {
  std::string_view suffix;
  double scale;
};

// Splits "12.5suffix" and scales by the unit of that suffix.
std::optional<double> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  size_t digits = text.find_first_not_of("0123456789.");
  if (digits == std::string_view::npos) digits = text.size();
  std::optional<double> value = parse_double(text.substr(0, digits));
  if (!value) return std::nullopt;
  std::string_view suffix = text.substr(digits);
  for (const Unit& unit : units) {
    if (unit.suffix == suffix) return *value * unit.scale;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_bytes(std::string_view text) {
  static constexpr double kKi = 1024;
  static constexpr Unit kUnits[] = {{"", 1},
                                    {"B", 1},
                                    {"K", kKi},
                                    {"KiB", kKi},
                                    {"M", kKi * kKi},
                                    {"MiB", kKi * kKi},
                                    {"G", kKi * kKi * kKi},
                                    {"GiB", kKi * kKi * kKi},
                                    {"T", kKi * kKi * kKi * kKi},
                                    {"TiB", kKi * kKi * kKi * kKi}};
  if (std::optional<uint64_t> plain = parse_uint(text)) return plain;  // exact above 2^53
  std::optional<double> value = parse_with_unit(text, kUnits);
  if (!value || *value >= 9.2e18) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::optional<double> parse_seconds(std::string_view text) {
  static constexpr Unit kUnits[] = {{"", 1}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  return parse_with_unit(text, kUnits);
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // From 1023.5 on a value would be printed as 1024, which is 1.0 of the next unit.
  while (value >= (unit == 0 ? 1024 : 1023.5) && unit + 1 < std::size(kNames)) value /= 1024, ++unit;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                kNames[unit]);
  return buffer;
}

std::string significant(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

// Levenshtein's distance, one row at a time.
static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    // `row` has the distances of the first i - 1 letters of `a` to each prefix of `b`, and gets those of i
    // letters.  `diagonal` keeps the entry of row i - 1 and column j - 1, which has been overwritten.
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  // A name may differ in two letters, or in a third of its letters, but a short name never in all of them.
  size_t best_distance = std::min(name.size(), std::max<size_t>(2, name.size() / 3) + 1);
  for (const std::string& candidate : candidates) {
    size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  std::string best = nearest(name, candidates);
  return best.empty() ? "" : cat(" (did you mean ", quote(best), "?)");
}

}  // namespace ps
