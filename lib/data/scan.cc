#include "data/scan.h"

#include <cfloat>
#include <charconv>
#include <cmath>

namespace ps {

namespace scan_internal {

// Scans the digits after the first 16 one at a time, since few numbers have so many.
bool scan_uint_tail(const char*& p, uint64_t& value) {
  bool fits = true;
  for (; is_digit(*p); ++p) {
    uint64_t digit = static_cast<uint64_t>(*p - '0');
    fits = fits && value <= (UINT64_MAX - digit) / 10;
    value = value * 10 + digit;
  }
  return fits;
}

static bool names(const char* p, std::string_view word) {
  for (char c : word) {
    if ((*p++ | 0x20) != c) return false;
  }
  return true;
}

// Returns the end of the number at p: digits, point, digits, exponent.
static const char* number_end(const char* p) {
  while (is_digit(*p) || *p == '.') ++p;
  if (*p != 'e' && *p != 'E') return p;
  const char* exponent = p + 1;
  if (*exponent == '-' || *exponent == '+') ++exponent;
  if (!is_digit(*exponent)) return p;
  while (is_digit(*exponent)) ++exponent;
  return exponent;
}

// Scans any number by std::from_chars, which takes no plus sign, and would accept names of infinity and
// NaN.
Scan scan_float_slow(const char*& p, float& value) {
  const char* begin = p;
  bool negative = *begin == '-';
  if (*begin == '-' || *begin == '+') ++begin;
  if (names(begin, "nan") || names(begin, "inf")) return Scan::kNotFinite;
  if (!is_digit(*begin) && !(*begin == '.' && is_digit(begin[1]))) return Scan::kNotNumber;
  const char* end = number_end(begin);
  auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) {
    // The number is too small, which gives 0, or too large, which is an error; a wider type tells which.
    long double wide = 0;
    if (std::from_chars(begin, end, wide).ec != std::errc() || wide >= 1) return Scan::kNotFinite;
    value = 0;
  } else if (error != std::errc()) {
    return Scan::kNotNumber;
  }
  if (negative) value = -value;
  p = stop;
  return Scan::kNumber;
}

}  // namespace scan_internal

namespace {

constexpr float kFloatPowers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
constexpr double kDoublePowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Computes mantissa / 10^decimals, correctly rounded, if that is cheap; else returns false. (Clinger, "How to
// read floating point numbers accurately", PLDI 1990.)
bool divide(uint64_t mantissa, int decimals, float& value) {
  // Both numbers are exact as floats, so the only rounding is that of the division.
  if (mantissa <= uint64_t{1} << 24 && decimals >= 0 && decimals <= 10) {
    value = static_cast<float>(mantissa) / kFloatPowers[decimals];
    return true;
  }
  // The same in double, and a second rounding, which is harmless unless the first one fell near the middle
  // between two floats.  A mantissa above 2^53 is rounded too: each of the two roundings moves the quotient
  // by less than one of its own last places, or by two where it is just below a power of two.
  if (decimals < -22 || decimals > 22) return false;
  const double wide = decimals < 0 ? static_cast<double>(mantissa) * kDoublePowers[-decimals]
                                   : static_cast<double>(mantissa) / kDoublePowers[decimals];
  constexpr uint64_t kMiddle = 0x10000000, kBeside = 4;
  const uint64_t rest = std::bit_cast<uint64_t>(wide) & 0x1fffffff;
  const bool middle = rest - kMiddle + kBeside <= 2 * kBeside;
  if (middle || (wide < FLT_MIN && mantissa != 0) || wide > FLT_MAX / 2) return false;
  value = static_cast<float>(wide);
  return true;
}

// Scans "e", a sign and up to 8 digits, and moves p past them.  Returns false if there are none.
bool scan_exponent(const char*& p, int& exponent) {
  const char* q = p + 1;
  const bool negative = *q == '-';
  if (*q == '-' || *q == '+') ++q;
  uint64_t value = 0;
  if (scan_internal::scan_digits(q, value) == 0) return false;
  exponent = negative ? -static_cast<int>(value) : static_cast<int>(value);
  p = q;
  return true;
}

}  // namespace

// Collects the digits before and behind the point in `mantissa`, up to 8 at a time, so that the number is
// mantissa x 10^(exponent - decimals).  divide() rounds it correctly in nearly all cases.
Scan scan_float(const char*& p, float& value) {
  using scan_internal::scan_digits;
  const char* q = p;
  bool negative = *q == '-';
  if (*q == '-' || *q == '+') ++q;
  uint64_t mantissa = 0;
  int digits = scan_digits(q, mantissa), decimals = 0;
  if (digits == 8) digits += scan_digits(q, mantissa);
  if (*q == '.') {
    ++q;
    for (int more = 8; more == 8 && digits < 19; decimals += more, digits += more)
      more = scan_digits(q, mantissa);
  }
  // Up to 19 digits fit into the mantissa.  The slow path handles all other numbers, and reports errors.
  bool simple = digits > 0 && digits <= 19 && !is_digit(*q) && *q != '.';
  int exponent = 0;
  if (simple && (*q | 0x20) == 'e') simple = scan_exponent(q, exponent) && !is_digit(*q);
  if (!simple || !divide(mantissa, decimals - exponent, value))
    return scan_internal::scan_float_slow(p, value);
  if (negative) value = -value;
  p = q;
  return Scan::kNumber;
}

std::string_view token_at(const char* p, const char* end) {
  const char* q = p;
  while (q < end && *q != ' ' && *q != '\t' && *q != ',' && *q != ':' && *q != '#') ++q;
  return std::string_view(p, static_cast<size_t>(q - p));
}

void fail_number(Scan found, std::string_view what, const char* p, const char* end, std::string_view of) {
  fail(Code::kData, what, " ", quote(token_at(p, end)), of,
       found == Scan::kNotFinite ? " is not finite" : " is not a number");
}

}  // namespace ps
