// The row codecs of one level. codec/row_codec.h describes their formats.
#include "codec/kernels/half.h"
#include "codec/kernels/kernels.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

[[gnu::always_inline]] inline float smaller(float x, float y) {
  return y < x ? y : x;
}

// Returns the rounding error sum - rounded, or zero if it is not finite.
[[gnu::always_inline]] inline float rest(float sum, float rounded) {
  const float difference = sum - rounded;
  return (bits_of(difference) & ~kSign) < kInfinity ? difference : 0;
}

// A codec encodes and decodes some rows, and subtracts the decoded values from the original ones.
struct FloatRows {
  static void encode(const float* values, int64_t rows, int64_t cols, char* encoded) {
    __builtin_memcpy(encoded, values, static_cast<uint64_t>(rows * cols) * sizeof(float));
  }
  static void decode(const char* encoded, int64_t rows, int64_t cols, float* values) {
    __builtin_memcpy(values, encoded, static_cast<uint64_t>(rows * cols) * sizeof(float));
  }
  static void subtract(const char*, int64_t rows, int64_t cols, float* values) {
    __builtin_memset(values, 0, static_cast<uint64_t>(rows * cols) * sizeof(float));
  }
  static int64_t row_bytes(int64_t cols) { return cols * int64_t{sizeof(float)}; }
};

template <class Format>
struct HalfRows {
  typedef uint16_t Coded __attribute__((may_alias, aligned(1)));  // in a frame they may be unaligned

  static void encode(const float* values, int64_t rows, int64_t cols, char* encoded) {
    Coded* out = reinterpret_cast<Coded*>(encoded);
    for (int64_t i = 0; i < rows * cols; ++i) out[i] = Format::encode(values[i]);
  }
  static void decode(const char* encoded, int64_t rows, int64_t cols, float* values) {
    const Coded* in = reinterpret_cast<const Coded*>(encoded);
    for (int64_t i = 0; i < rows * cols; ++i) values[i] = Format::decode(in[i]);
  }
  static void subtract(const char* encoded, int64_t rows, int64_t cols, float* values) {
    const Coded* in = reinterpret_cast<const Coded*>(encoded);
    for (int64_t i = 0; i < rows * cols; ++i) values[i] = rest(values[i], Format::decode(in[i]));
  }
  static int64_t row_bytes(int64_t cols) { return cols * int64_t{sizeof(uint16_t)}; }
};

struct ByteRows {
  static void encode(const float* values, int64_t rows, int64_t cols, char* encoded) {
    for (int64_t r = 0; r < rows; ++r) encode_row(values + r * cols, cols, encoded + r * row_bytes(cols));
  }
  static void decode(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for (int64_t r = 0; r < rows; ++r) decode_row(encoded + r * row_bytes(cols), cols, values + r * cols);
  }
  static void subtract(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for (int64_t r = 0; r < rows; ++r) {
      const Row row = row_at(encoded + r * row_bytes(cols));
      float* sums = values + r * cols;
      for (int64_t j = 0; j < cols; ++j) {
        sums[j] = rest(sums[j], row.scale * static_cast<float>(row.values[j]));
      }
    }
  }
  static int64_t row_bytes(int64_t cols) { return cols + int64_t{sizeof(float)}; }

 private:
  static constexpr float kSteps = 127;

  // Returns the largest size in the row; sizes of infinities and NaN are above those of all numbers.
  static uint32_t largest_size(const float* values, int64_t cols) {
    uint32_t largest = 0;
    for (int64_t j = 0; j < cols; ++j) {
      const uint32_t size = bits_of(values[j]) & ~kSign;
      largest = largest < size ? size : largest;
    }
    return largest;
  }

  // A row whose scale would be subnormal becomes zero, and 127 times the largest scale is finite.  The last
  // bit of 1.5 x 2^23 has the value 1: adding it rounds to whole numbers, ties to even.
  static void encode_row(const float* values, int64_t cols, char* encoded) {
    constexpr float kRounder = 0x1.8p23f, kSmallestScale = 0x1p-126f, kLargestScale = 0x1.0204060000000p+121f;
    const uint32_t size = largest_size(values, cols);
    const float largest = float_of(size);
    const bool finite = size < kInfinity, zero = finite && largest < kSteps * kSmallestScale;
    const float scale = !finite ? float_of(kInfinity | 1u << 22)
                        : zero  ? 0
                                : smaller(largest / kSteps, kLargestScale);
    const float per_scale = !finite || zero ? 0 : kSteps / largest;
    __builtin_memcpy(encoded, &scale, sizeof scale);
    signed char* out = reinterpret_cast<signed char*>(encoded + sizeof scale);
    for (int64_t j = 0; j < cols; ++j) {
      const float value = finite ? values[j] : 0;
      out[j] = static_cast<signed char>(static_cast<int32_t>(value * per_scale + kRounder - kRounder));
    }
  }

  struct Row {
    float scale;
    const signed char* values;
  };

  static Row row_at(const char* encoded) {
    Row row{0, reinterpret_cast<const signed char*>(encoded + sizeof(float))};
    __builtin_memcpy(&row.scale, encoded, sizeof row.scale);
    return row;
  }
  static void decode_row(const char* encoded, int64_t cols, float* values) {
    const Row row = row_at(encoded);
    for (int64_t j = 0; j < cols; ++j) values[j] = row.scale * static_cast<float>(row.values[j]);
  }
};

// A row of bytes for each block of a row.
struct BlockByteRows {
  static void encode(const float* values, int64_t rows, int64_t cols, char* encoded) {
    for_each_block(rows, cols, [&](int64_t at, int64_t n) {
      ByteRows::encode(values + at, 1, n, encoded);
      encoded += ByteRows::row_bytes(n);
    });
  }
  static void decode(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for_each_block(rows, cols, [&](int64_t at, int64_t n) {
      ByteRows::decode(encoded, 1, n, values + at);
      encoded += ByteRows::row_bytes(n);
    });
  }
  static void subtract(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for_each_block(rows, cols, [&](int64_t at, int64_t n) {
      ByteRows::subtract(encoded, 1, n, values + at);
      encoded += ByteRows::row_bytes(n);
    });
  }
  static int64_t row_bytes(int64_t cols) {
    return cols + (cols + kRowBlock - 1) / kRowBlock * int64_t{sizeof(float)};
  }

 private:
  template <class Body>
  [[gnu::always_inline]] static inline void for_each_block(int64_t rows, int64_t cols, Body&& body) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t begin = 0; begin < cols; begin += kRowBlock) {
        body(r * cols + begin, cols - begin < kRowBlock ? cols - begin : kRowBlock);
      }
    }
  }
};

// Sums run in the order of the values, in double, so that all levels give the same means.
struct SignRows {
  static void encode(const float* values, int64_t rows, int64_t cols, char* encoded) {
    for (int64_t r = 0; r < rows; ++r) encode_row(values + r * cols, cols, encoded + r * row_bytes(cols));
  }
  static void decode(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for (int64_t r = 0; r < rows; ++r) {
      const char* row = encoded + r * row_bytes(cols);
      const Means means = means_at(row);
      for (int64_t j = 0; j < cols; ++j) values[r * cols + j] = value_at(means, row, j);
    }
  }
  static void subtract(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for (int64_t r = 0; r < rows; ++r) {
      const char* row = encoded + r * row_bytes(cols);
      const Means means = means_at(row);
      float* sums = values + r * cols;
      for (int64_t j = 0; j < cols; ++j) sums[j] = rest(sums[j], value_at(means, row, j));
    }
  }
  static int64_t row_bytes(int64_t cols) { return int64_t{sizeof(Means)} + (cols + 7) / 8; }

 private:
  struct Means {
    float positive, negative;
  };

  static void encode_row(const float* values, int64_t cols, char* encoded) {
    double sums[2] = {0, 0};
    int64_t counts[2] = {0, 0};
    bool finite = true;
    char* bits = encoded + sizeof(Means);
    for (int64_t begin = 0; begin < cols; begin += 8) {
      const int64_t count = cols - begin < 8 ? cols - begin : 8;
      uint32_t byte = 0;
      for (int64_t j = 0; j < count; ++j) {
        const float value = values[begin + j];
        const bool negative = value < 0;
        finite &= (bits_of(value) & ~kSign) < kInfinity;
        sums[negative] += static_cast<double>(value);
        ++counts[negative];
        byte |= static_cast<uint32_t>(negative) << j;
      }
      *bits++ = static_cast<char>(byte);
    }
    const float nan = float_of(kInfinity | 1u << 22);
    const Means means = {finite ? mean(sums[0], counts[0]) : nan, finite ? mean(sums[1], counts[1]) : nan};
    __builtin_memcpy(encoded, &means, sizeof means);
  }
  static float mean(double sum, int64_t count) {
    return count == 0 ? 0 : static_cast<float>(sum / static_cast<double>(count));
  }
  static Means means_at(const char* row) {
    Means means;
    __builtin_memcpy(&means, row, sizeof means);
    return means;
  }
  static float value_at(const Means& means, const char* row, int64_t j) {
    return (row[sizeof(Means) + static_cast<uint64_t>(j / 8)] >> (j % 8) & 1) != 0 ? means.negative
                                                                                   : means.positive;
  }
};

// Works on groups of rows that stay in the first-level cache: adds the values to `error`, encodes these sums,
// and then subtracts the decoded values from them.
template <class Rows>
void encode_with_error(const float* values, float* error, int64_t rows, int64_t cols, char* encoded) {
  constexpr int64_t kValues = 2048;
  const int64_t group = cols < kValues ? kValues / cols : 1;
  for (int64_t r = 0; r < rows; r += group) {
    const int64_t count = rows - r < group ? rows - r : group;
    for (int64_t i = 0; i < count * cols; ++i) error[i] += values[i];
    Rows::encode(error, count, cols, encoded);
    Rows::subtract(encoded, count, cols, error);
    values += count * cols;
    error += count * cols;
    encoded += count * Rows::row_bytes(cols);
  }
}

template <class Rows>
constexpr RowCodec codec() {
  return {Rows::encode, encode_with_error<Rows>, Rows::decode};
}

}  // namespace

// In the order of RowType.
extern const RowCodec kRowCodecs[6] = {codec<FloatRows>(), codec<HalfRows<Half>>(), codec<HalfRows<Bfloat>>(),
                                       codec<ByteRows>(),  codec<BlockByteRows>(),  codec<SignRows>()};

}  // namespace ps::PS_CPU_NAMESPACE
