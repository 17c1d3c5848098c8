#include "store/step_header.h"

#include "base/error.h"

namespace ps {

namespace {

// A header is summed as floats.  The number of samples travels as digits, so that sums over the largest
// number of ranks are exact: digits are below 2^8, ranks up to 2^16, and integers up to 2^24 are exact.
constexpr size_t kSampleDigits = 4;
constexpr int kDigitBits = 8;
enum HeaderField : size_t { kPushers = kSampleDigits, kShrinks, kCheckpoints, kEnds, kHeaderFields };
static_assert(kHeaderFields == kStepHeaderFields && kMaxStepSamples == int64_t{1}
                                                                           << (kSampleDigits * kDigitBits));

}  // namespace

void write_step_header(const StepHeader& header, std::span<float> fields) {
  PS_CHECK(fields.size() == kStepHeaderFields && header.info.samples < kMaxStepSamples);
  for (size_t digit = 0; digit < kSampleDigits; ++digit) {
    fields[digit] = static_cast<float>(header.info.samples >> (digit * kDigitBits) & 0xff);
  }
  fields[kPushers] = static_cast<float>(header.pushers);
  fields[kShrinks] = header.info.shrink ? 1 : 0;
  fields[kCheckpoints] = header.wishes.checkpoint ? 1 : 0;
  fields[kEnds] = header.wishes.end ? 1 : 0;
}

StepHeader read_step_header(std::span<const float> fields, int64_t pass) {
  PS_CHECK(fields.size() == kStepHeaderFields);
  StepHeader header;
  for (size_t digit = 0; digit < kSampleDigits; ++digit) {
    header.info.samples += static_cast<int64_t>(fields[digit]) << (digit * kDigitBits);
  }
  header.info.pass = pass;
  header.info.shrink = fields[kShrinks] > 0;
  header.pushers = static_cast<int64_t>(fields[kPushers]);
  header.wishes = {.checkpoint = fields[kCheckpoints] > 0, .end = fields[kEnds] > 0};
  return header;
}

}  // namespace ps
