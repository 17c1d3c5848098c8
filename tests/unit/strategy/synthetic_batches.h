// Parameters, gradients and checkpoints of trainers that are threads.  Used by the tests of strategies without servers.
#ifndef PS_TESTS_UNIT_STRATEGY_SYNTHETIC_BATCHES_H_
#define PS_TESTS_UNIT_STRATEGY_SYNTHETIC_BATCHES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "optim/synthetic_parameter.h"
#include "store/local_store.h"

namespace ps {

// The factor of the noise in numbers of batches.
inline constexpr float kNoise = 8;

// A matrix of rows x cols, a bias, rows by ids, and a statistic.
inline std::vector<ParameterSpec> mixed_parameters(int64_t rows, int64_t cols) {
  return {synthetic_parameter("matrix", ParameterKind::kMatrix, false, rows, cols),
          synthetic_parameter("bias", ParameterKind::kMatrix, false, 1, cols),
          synthetic_parameter("rows", ParameterKind::kRows, false, 30, 4),
          synthetic_parameter("mean", ParameterKind::kStatistic, false, 1, 3)};
}

// The random numbers of one parameter in one trainer's batch.
inline Random batch_random(int rank, int64_t step, size_t parameter) {
  return Random(17, static_cast<uint64_t>((rank * 1000 + step) * 10) + parameter);
}

inline float noise(Random& random) {
  return (unit_float(random.next32()) - 0.5f) * kNoise;
}

// Numbers of one trainer's batch: noise of (rank, step, parameter).
inline void fill_with_noise(std::span<float> values, int rank, int64_t step, size_t parameter) {
  Random random = batch_random(rank, step, parameter);
  for (float& value : values) value = noise(random);
}

// Copies weights and optimizer state of one parameter, as a checkpoint would.
inline void copy_parameter(const LocalStore& from, const ParameterSpec& spec, int parameter, LocalStore& to) {
  std::vector<uint64_t> keys(static_cast<size_t>(spec.rows));
  for (size_t key = 0; key < keys.size(); ++key) keys[key] = key;
  RowBlock block;
  from.copy_rows(parameter, keys, block);
  to.put_rows(parameter, block);
}

inline void copy_schedule(const LocalStore& from, LocalStore& to) {
  std::string schedule;
  from.schedule().save(schedule);
  ByteReader in(schedule);
  to.schedule().advance(in);
}

// The weights of all parameters, one after the other.
inline std::vector<float> whole_weights(LocalStore& local, size_t num_parameters) {
  std::vector<float> all;
  for (size_t p = 0; p < num_parameters; ++p) {
    const std::span<const float> own = local.whole(static_cast<int>(p));
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_STRATEGY_SYNTHETIC_BATCHES_H_
