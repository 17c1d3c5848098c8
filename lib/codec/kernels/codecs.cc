// The row codecs of one level. codec/row_codec.h describes their formats.
#include "codec/kernels/kernels.h"
#include "codec/kernels/row_rules.h"
#include "math/kernels/half.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

// Each struct below is one row type.  It encodes and decodes rows, and subtracts the decoded values from the
// original ones, which leaves the rounding errors.
// The types f32, f16 and bf16 have no scale, so their rows are encoded as one array.
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
  typedef uint16_t Coded __attribute__((may_alias, aligned(1)));  // values in a frame may be unaligned

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
    for (int64_t i = 0; i < rows * cols; ++i) values[i] = rounding_error(values[i], Format::decode(in[i]));
  }
  static int64_t row_bytes(int64_t cols) { return cols * int64_t{sizeof(uint16_t)}; }
};

// Type int8: a row is its scale, and a byte for each value.
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
        sums[j] = rounding_error(sums[j], row.scale * static_cast<float>(row.values[j]));
      }
    }
  }
  static int64_t row_bytes(int64_t cols) { return cols + int64_t{sizeof(float)}; }

 private:
  // Returns the largest size in the row; sizes of infinities and NaN are above those of all numbers.
  static uint32_t largest_size(const float* values, int64_t cols) {
    uint32_t largest = 0;
    for (int64_t j = 0; j < cols; ++j) {
      const uint32_t size = bits_of(values[j]) & ~kSign;
      largest = largest < size ? size : largest;
    }
    return largest;
  }

  static void encode_row(const float* values, int64_t cols, char* encoded) {
    const ByteScale scale = ByteScale::of_size(largest_size(values, cols));
    __builtin_memcpy(encoded, &scale.scale, sizeof scale.scale);
    signed char* out = reinterpret_cast<signed char*>(encoded + sizeof scale.scale);
    for (int64_t j = 0; j < cols; ++j) out[j] = scale.byte_of(values[j]);
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

// Type int8_blocks: each block of a row is encoded like a row of int8.
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
  // Calls body(at, n) for each block of each row, in order: its n values begin at `at`.
  template <class Body>
  [[gnu::always_inline]] static inline void for_each_block(int64_t rows, int64_t cols, Body&& body) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t begin = 0; begin < cols; begin += kRowBlock) {
        body(r * cols + begin, cols - begin < kRowBlock ? cols - begin : kRowBlock);
      }
    }
  }
};

// Type one_bit.  Values are summed in sixteen lanes, in double, and then the lanes in their order, so that all
// levels give the same means.
struct SignRows {
  static void encode(const float* values, int64_t rows, int64_t cols, char* encoded) {
    for (int64_t r = 0; r < rows; ++r) encode_row(values + r * cols, cols, encoded + r * row_bytes(cols));
  }
  static void decode(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for_each_group(encoded, rows, cols, values, [](const float* decoded, int64_t n, float* to) {
      for (int64_t j = 0; j < n; ++j) to[j] = decoded[j];
    });
  }
  static void subtract(const char* encoded, int64_t rows, int64_t cols, float* values) {
    for_each_group(encoded, rows, cols, values, [](const float* decoded, int64_t n, float* sums) {
      for (int64_t j = 0; j < n; ++j) sums[j] = rounding_error(sums[j], decoded[j]);
    });
  }
  static int64_t row_bytes(int64_t cols) { return int64_t{sizeof(SignMeans)} + (cols + kByte - 1) / kByte; }

 private:
  static constexpr int64_t kByte = 8, kLanes = kSignLanes;

  // The sums of a row come first, then its bits: compilers vectorise either loop.
  static void encode_row(const float* values, int64_t cols, char* encoded) {
    double up[kLanes] = {}, down[kLanes] = {};
    uint32_t largest[kLanes] = {};  // the largest size in each lane
    float last[kLanes] = {};        // the last values, filled up with zeros, which change no sum
    const int64_t whole = cols / kLanes * kLanes;
    for (int64_t begin = 0; begin < whole; begin += kLanes) add_group(values + begin, up, down, largest);
    __builtin_memcpy(last, values + whole, static_cast<uint64_t>(cols - whole) * sizeof(float));
    if (whole < cols) add_group(last, up, down, largest);
    const int64_t num_negative = encode_signs(values, cols, encoded + sizeof(SignMeans));
    uint32_t size = 0;
    for (int64_t j = 0; j < kLanes; ++j) size = size < largest[j] ? largest[j] : size;
    const SignMeans means = SignMeans::of_sums(sum(up), sum(down), cols, num_negative, size);
    __builtin_memcpy(encoded, &means, sizeof means);
  }
  // Adds 16 values to the lanes, one to each: the positive ones to `up` and the negative ones to `down`,
  // without branches.
  [[gnu::always_inline]] static inline void add_group(const float* values, double (&up)[kLanes],
                                                      double (&down)[kLanes], uint32_t (&largest)[kLanes]) {
    for (int64_t j = 0; j < kLanes; ++j) {
      const uint32_t size = bits_of(values[j]) & ~kSign;
      largest[j] = largest[j] < size ? size : largest[j];
      up[j] += static_cast<double>(positive_part(values[j]));
      down[j] += static_cast<double>(negative_part(values[j]));
    }
  }
  static double sum(const double (&lanes)[kLanes]) {
    double all = 0;
    for (int64_t j = 0; j < kLanes; ++j) all += lanes[j];
    return all;
  }
  // Writes one bit for each value, and returns the number of negative ones.
  static int64_t encode_signs(const float* values, int64_t cols, char* bits) {
    int64_t num_negative = 0;
    for (int64_t begin = 0; begin < cols; begin += kByte, ++bits) {
      const int64_t count = cols - begin < kByte ? cols - begin : kByte;
      uint32_t byte = 0;
      if (count == kByte) {
        for (int64_t j = 0; j < kByte; ++j) byte |= is_negative(values[begin + j]) << j;
      } else {
        for (int64_t j = 0; j < count; ++j) byte |= is_negative(values[begin + j]) << j;
      }
      num_negative += __builtin_popcount(byte);
      *bits = static_cast<char>(byte);
    }
    return num_negative;
  }

  // Calls body(decoded, n, to) for every byte of the rows, where `decoded` has the n values of the byte and
  // `to` is their position in `values`.
  template <class Body>
  [[gnu::always_inline]] static inline void for_each_group(const char* encoded, int64_t rows, int64_t cols,
                                                           float* values, Body&& body) {
    for (int64_t r = 0; r < rows; ++r, encoded += row_bytes(cols), values += cols) {
      SignMeans means;
      __builtin_memcpy(&means, encoded, sizeof means);
      const char* bits = encoded + sizeof means;
      for (int64_t begin = 0; begin < cols; begin += kByte) {
        const uint32_t byte = static_cast<unsigned char>(*bits++);
        float decoded[kByte];
        for (int64_t j = 0; j < kByte; ++j) decoded[j] = means.value_of(byte >> j & 1u);
        cols - begin >= kByte ? body(decoded, kByte, values + begin)
                              : body(decoded, cols - begin, values + begin);
      }
    }
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
