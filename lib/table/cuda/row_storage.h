// Functions by which kernels of DeviceTable read and write rows, whose weights may have 16 bits.  Used by the
// other headers of its kernels.
#ifndef PS_TABLE_CUDA_ROW_STORAGE_H_
#define PS_TABLE_CUDA_ROW_STORAGE_H_

#include "math/kernels/initial_values.h"
#include "table/cuda/row_access.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

// The weights of 16 bits that are read and written at once.
template <int kValues>
struct alignas(kValues * sizeof(uint16_t)) Halves {
  uint16_t values[kValues];
};

__device__ inline uint16_t* halves_of(float* row) {
  return reinterpret_cast<uint16_t*>(row);
}
__device__ inline const uint16_t* halves_of(const float* row) {
  return reinterpret_cast<const uint16_t*>(row);
}

// kFloats weights of a row from `column` on.  Weights of 16 bits are decoded only when they are needed, so
// that other loads are under way before.  Owned by one lane.
template <int kFloats>
class StoredWeights {
 public:
  __device__ StoredWeights(const Rows& rows, const float* row, uint32_t column) {
    if (rows.rounding.type == ValueType::kF32) {
      weights_ = *reinterpret_cast<const Floats<kFloats>*>(row + column);
      return;
    }
    const auto halves = *reinterpret_cast<const Halves<kFloats>*>(halves_of(row) + column);
    for (int n = 0; n < kFloats; ++n) weights_.values[n] = float_of(halves.values[n]);
  }

  __device__ Floats<kFloats> decoded(const ValueRounding& rounding) const {
    if (rounding.type == ValueType::kF32) return weights_;
    Floats<kFloats> weights;
    for (int n = 0; n < kFloats; ++n)
      weights.values[n] = rounding.decode(static_cast<uint16_t>(bits_of(weights_.values[n])));
    return weights;
  }

 private:
  Floats<kFloats> weights_;  // weights, or the bits of 16-bit weights
};

// Rounds weights of a row.  `row_seed` is the seed of the row in the rows' rounding.
template <int kFloats>
__device__ Halves<kFloats> encode(const ValueRounding& rounding, const Floats<kFloats>& weights,
                                  uint64_t row_seed, uint32_t column) {
  Halves<kFloats> halves;
  for (int n = 0; n < kFloats; ++n)
    halves.values[n] = rounding.encode(weights.values[n], row_seed, column + static_cast<uint32_t>(n));
  return halves;
}

// Writes weights of a row from `column` on.  `hash` is the hash of its key.
template <int kFloats>
__device__ void write_weights(const Rows& rows, uint64_t hash, float* row, uint32_t column,
                              const Floats<kFloats>& weights) {
  if (rows.rounding.type == ValueType::kF32) {
    *reinterpret_cast<Floats<kFloats>*>(row + column) = weights;
  } else {
    *reinterpret_cast<Halves<kFloats>*>(halves_of(row) + column) =
        encode(rows.rounding, weights, rows.rounding.row_seed(hash), column);
  }
}

// Each lane gives a row of 16-bit weights and the destination of its weights; kValues of them are copied at
// once.
template <int kValues>
__device__ void decode_units(const Rows& rows, float* to, const float* row) {
  copy_units(reinterpret_cast<Floats<kValues>*>(to), reinterpret_cast<const Halves<kValues>*>(halves_of(row)),
             rows.width / kValues, [&](const Halves<kValues>& halves, uint32_t, uint32_t) {
               Floats<kValues> weights;
               for (int n = 0; n < kValues; ++n) weights.values[n] = rows.rounding.decode(halves.values[n]);
               return weights;
             });
}

__device__ inline void decode_rows(const Rows& rows, float* to, const float* row) {
  if (!gpu::any(kFullWarp, to != nullptr)) return;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(to);
  if (rows.width % 8 == 0 && gpu::all(kFullWarp, bits % 16 == 0)) {
    decode_units<8>(rows, to, row);
  } else if (rows.width % 4 == 0 && gpu::all(kFullWarp, bits % 16 == 0)) {
    decode_units<4>(rows, to, row);
  } else {
    decode_units<1>(rows, to, row);
  }
}

// Each lane gives a row and the destination of its weights, as floats; all lanes copy all of them together.
// Zeros are written if the row is null, and nothing is written if `to` is null.
__device__ inline void read_weights_of(const Rows& rows, float* to, const float* row) {
  if (rows.rounding.type == ValueType::kF32) return copy_rows(to, row, rows.width);
  decode_rows(rows, to, row);
}

// Does the same with weights and state.
__device__ inline void read_rows(const Rows& rows, float* to, const float* row) {
  if (rows.rounding.type == ValueType::kF32) return copy_rows(to, row, rows.row_floats);
  decode_rows(rows, to, row);
  const uint32_t state = rows.row_floats - rows.width;
  if (state == 0) return;
  copy_rows(to != nullptr ? to + rows.width : nullptr, row != nullptr ? row + rows.state_at : nullptr, state);
}

// Works as write_rows for weights of 16 bits, kValues at once.
template <int kValues>
__device__ void encode_units(const Rows& rows, uint64_t seed, float* row, const float* from) {
  copy_units(reinterpret_cast<Halves<kValues>*>(halves_of(row)),
             reinterpret_cast<const Floats<kValues>*>(from), rows.width / kValues,
             [&](const Floats<kValues>& weights, uint32_t lane, uint32_t unit) {
               const uint64_t row_seed = rows.rounding.evenly ? gpu::shuffle(kFullWarp, seed, lane) : 0;
               return encode(rows.rounding, weights, row_seed, unit * kValues);
             });
}

// Each lane gives a row, or null, the hash of its key, and its weights and state as floats; all lanes copy
// all rows together.
__device__ inline void write_rows(const Rows& rows, uint64_t hash, float* row, const float* from) {
  if (rows.rounding.type == ValueType::kF32) return copy_rows(row, from, rows.row_floats);
  if (!gpu::any(kFullWarp, row != nullptr)) return;
  const uint64_t seed = rows.rounding.row_seed(hash);
  if (rows.width % 4 == 0 && gpu::all(kFullWarp, reinterpret_cast<uintptr_t>(from) % 16 == 0)) {
    encode_units<4>(rows, seed, row, from);
  } else {
    encode_units<1>(rows, seed, row, from);
  }
  const uint32_t state = rows.row_floats - rows.width;
  if (state > 0) copy_rows(row != nullptr ? row + rows.state_at : nullptr, from + rows.width, state);
}

// Returns weights 4 j ... 4 j + 3 of a row that no step has changed.
__device__ inline void initial_four(const Initial& initial, uint64_t key, uint32_t j, float values[4]) {
  const bool drawn =
      initial.distribution == Distribution::kNormal || initial.distribution == Distribution::kUniform;
  if (!drawn) {
    const float value = initial.distribution == Distribution::kConstant ? initial.mean : 0;
    for (int n = 0; n < 4; ++n) values[n] = value;
    return;
  }
  uint32_t bits[4][1];
  initial_values::draw(initial.seed, key, j, bits);
  const uint32_t own[4] = {bits[0][0], bits[1][0], bits[2][0], bits[3][0]};
  float four[4];
  if (initial.distribution == Distribution::kNormal) {
    initial_values::NormalLaw()(own, four);
  } else {
    initial_values::UniformLaw()(own, four);
  }
  for (int n = 0; n < 4; ++n) values[n] = initial.mean + initial.deviation * four[n];
}

// weights [width] <- the initial weights of the key's row, as the table rounds them.
__device__ inline void write_initial(const Rows& rows, const Initial& initial, uint64_t key, float* weights) {
  const uint64_t seed = rows.rounding.row_seed(hash_key(key));
  for (uint32_t j = gpu::lane(); 4 * j < rows.width; j += kLanes) {
    float values[4];
    initial_four(initial, key, j, values);
    for (uint32_t c = 4 * j; c < 4 * j + 4 && c < rows.width; ++c)
      weights[c] = rows.rounding.round(values[c - 4 * j], seed, c);
  }
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_ROW_STORAGE_H_
