#include "codec/row_codec.h"

#include <array>

#include "base/cpu.h"
#include "base/cpu_levels.h"

namespace ps {

// The codecs of each level are in lib/codec/kernels/codecs.cc.
#define PS_DECLARE(level)              \
  namespace level {                    \
  extern const RowCodec kRowCodecs[6]; \
  }
PS_FOR_CPU_LEVELS(PS_DECLARE)
#undef PS_DECLARE

namespace {

constexpr std::array<std::string_view, 6> kRowTypeNames = {"f32",  "f16",         "bf16",
                                                           "int8", "int8_blocks", "one_bit"};

}  // namespace

std::string_view row_type_name(RowType type) {
  return kRowTypeNames[static_cast<size_t>(type)];
}

std::vector<std::string> row_type_names() {
  return {kRowTypeNames.begin(), kRowTypeNames.end()};
}

std::vector<std::string> weight_type_names() {
  std::vector<std::string> names;
  for (RowType type : kRowTypes) {
    if (holds_weights(type)) names.emplace_back(row_type_name(type));
  }
  return names;
}

std::optional<RowType> find_row_type(std::string_view name) {
  for (RowType type : kRowTypes) {
    if (row_type_name(type) == name) return type;
  }
  return std::nullopt;
}

std::optional<RowType> find_row_type(uint8_t number) {
  if (number >= kRowTypeNames.size()) return std::nullopt;
  return static_cast<RowType>(number);
}

// The last block of a row and its last byte of signs may be filled in part only, so both numbers are
// rounded up.
uint64_t encoded_row_bytes(RowType type, int64_t cols) {
  const uint64_t width = static_cast<uint64_t>(cols);
  switch (type) {
    case RowType::kF32:
      return width * sizeof(float);
    case RowType::kF16:
    case RowType::kBf16:
      return width * sizeof(uint16_t);
    case RowType::kInt8:
      return sizeof(float) + width;
    case RowType::kInt8Blocks:
      return (width + kRowBlock - 1) / kRowBlock * sizeof(float) + width;
    case RowType::kOneBit:
      return 2 * sizeof(float) + (width + 7) / 8;
  }
  return 0;
}

// kLevels is in the order of CpuLevel, and the codecs of each level are in that of RowType.
const RowCodec& row_codec(RowType type, CpuLevel cpu) {
#define PS_CODECS(level) level::kRowCodecs,
  static constexpr const RowCodec* kLevels[] = {PS_FOR_CPU_LEVELS(PS_CODECS)};
#undef PS_CODECS
  return kLevels[static_cast<int>(cpu)][static_cast<size_t>(type)];
}

}  // namespace ps
