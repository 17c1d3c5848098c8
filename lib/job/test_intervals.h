// The intervals of a test's measures, and their table.  Used by ps-train --job test --intervals.
#ifndef PS_JOB_TEST_INTERVALS_H_
#define PS_JOB_TEST_INTERVALS_H_

#include <cstdint>
#include <functional>

#include "config/json.h"
#include "feed/batch_source.h"
#include "job/run_options.h"
#include "math/device.h"
#include "model/network.h"
#include "train/trainer.h"

namespace ps {

// Measures the model as --job test does, and returns the result.  With options.intervals it has "intervals" too, and the
// table is printed, unless the result is printed as JSON.  Throws kUsage if there is no evaluator.
Json test_model(const RunOptions& options, uint64_t seed, const Network<float>& network, Trainer& trainer,
                Device& device, BatchSource& source, const std::function<bool()>& stop);

}  // namespace ps

#endif  // PS_JOB_TEST_INTERVALS_H_
