#include "device/cache_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace ps {

namespace {

constexpr uint32_t kMostKeys = 1 << 14;  // the largest number of keys of a call
constexpr uint32_t kBucket = CachedRows::kBucketRows;

// Returns the rounding of a parameter's weights.  Its seed differs from that of the initial weights.
ValueRounding rounding_of(const DeviceOptions& options, const ParameterSpec& spec) {
  ValueRounding rounding;
  if (options.values == "f32") return rounding;
  rounding.type = options.values == "f16" ? ValueType::kF16 : ValueType::kBf16;
  rounding.evenly = options.rounding == "stochastic";
  rounding.seed = hash_key(~spec.initializer.seed);
  return rounding;
}

CachedRowsOptions row_shape(const DeviceOptions& options, const ParameterSpec& spec,
                            const Optimizer<float>& optimizer) {
  CachedRowsOptions shape;
  shape.rounding = rounding_of(options, spec);
  shape.width = static_cast<uint32_t>(spec.cols);
  shape.arrays = static_cast<uint32_t>(optimizer.state_arrays());
  return shape;
}

// Returns a number of rows with which all rows of the parameter have a slot, however keys fall into buckets,
// almost always; more would never be used.
uint64_t most_useful_rows(const ParameterSpec& spec) {
  if (spec.rows == 0) return uint64_t{1} << 32;
  return 2 * static_cast<uint64_t>(spec.rows) + 2 * kBucket;
}

// Returns the number of keys of a call for a cache of this many rows, which is at most that number, rounded up
// to whole buckets.
uint32_t keys_of_call(uint64_t rows) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>((rows + kBucket - 1) / kBucket * kBucket, kBucket, kMostKeys));
}

// Returns the rows and the keys of a call that fit into this many bytes.  The memory of calls replaces at most
// an eighth of the rows: the number of keys is halved until that holds.
CachedRowsOptions fit(const RowDevice& device, const ParameterSpec& spec, CachedRowsOptions shape,
                      uint64_t bytes) {
  // The smallest possible cache tells whether there is any that fits.  With calls of a single bucket,
  // `most` is then the number of rows that no shape of the cache exceeds.
  shape.rows = kBucket;
  shape.most_keys = kBucket;
  const uint64_t least = device.bytes_for(shape);
  if (bytes < least) {
    fail(Code::kUsage, "device.bytes: ", bytes, " bytes for parameter ", quote(spec.name), ", expected ",
         least, " at least, for ", kBucket, " rows");
  }
  const uint64_t most = device.rows_for(bytes, shape);
  shape.most_keys = keys_of_call(most_useful_rows(spec));
  while (shape.most_keys > kBucket && device.rows_for(bytes, shape) < most - most / 8) shape.most_keys /= 2;
  shape.rows = std::min(device.rows_for(bytes, shape), most_useful_rows(spec));
  return shape;
}

CachedRowsOptions with_rows(CachedRowsOptions shape, int64_t rows) {
  shape.rows = static_cast<uint64_t>(rows);
  shape.most_keys = keys_of_call(shape.rows);
  return shape;
}

}  // namespace

// Drawn weights have more bits than 16, so that nearly every row of them would be made in vain.
bool keeps_first_weights(const ValueRounding& rounding, const Initializer& initializer) {
  if (rounding.type == ValueType::kF32 || initializer.distribution == Distribution::kZero) return true;
  return initializer.distribution == Distribution::kConstant &&
         rounding.holds(static_cast<float>(initializer.mean));
}

// A number of rows in the options holds for each parameter; otherwise the bytes are divided among the
// sparse parameters in equal parts.  The free memory is compared at the end with the sum, so that the error
// names all that is needed.
CachePlan plan_caches(const RowDevice& device, const DeviceOptions& options,
                      const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers) {
  const auto sparse = std::ranges::count_if(parameters, &ParameterSpec::sparse);
  if (sparse == 0) {
    fail(Code::kUsage, "device.type: ", quote(options.type),
         ", but no parameter of the model has sparse update, and only the rows of these are on a device: "
         "leave out --device, or set sparse_update in a layer");
  }
  CachePlan plan;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (!parameters[p].sparse) continue;
    const auto optimizer = optimizers.make(parameters[p].tuning);
    const CachedRowsOptions shape = row_shape(options, parameters[p], *optimizer);
    const CachedRowsOptions rows =
        options.rows > 0
            ? with_rows(shape, options.rows)
            : fit(device, parameters[p], shape, options.memory_bytes() / static_cast<uint64_t>(sparse));
    plan.caches.push_back({static_cast<int>(p), rows, device.bytes_for(rows), new_rows_of(parameters[p]),
                           keeps_first_weights(rows.rounding, parameters[p].initializer)});
    plan.bytes += plan.caches.back().bytes;
  }
  if (plan.bytes > device.free_bytes()) {
    fail(Code::kExhausted, "device: caches of rows need ", human_bytes(plan.bytes), ", ",
         human_bytes(device.free_bytes()), " are free on ", quote(options.type),
         "; fewer device.rows or device.bytes would fit");
  }
  return plan;
}

// Describes the weights if they are not f32.
static std::string name_of(const ValueRounding& rounding) {
  if (rounding.type == ValueType::kF32) return "";
  return cat(" as ", rounding.type == ValueType::kF16 ? "f16" : "bf16", ", rounded ",
             rounding.evenly ? "stochastically" : "to the nearest", ",");
}

std::string describe(const CachePlan& plan, const std::vector<ParameterSpec>& parameters) {
  std::string text;
  for (const PlannedCache& cache : plan.caches) {
    const uint64_t rows = (cache.rows.rows + kBucket - 1) / kBucket * kBucket;
    text += cat("  ", parameters[static_cast<size_t>(cache.parameter)].name, ": ", rows, " rows of ",
                cache.rows.width, " weights", name_of(cache.rows.rounding), " and ",
                cache.rows.width * cache.rows.arrays, " of state, calls of ", cache.rows.most_keys, " keys, ",
                human_bytes(cache.bytes), "\n");
  }
  return text + cat("  in all ", human_bytes(plan.bytes), " (", plan.bytes, " bytes)");
}

}  // namespace ps
