// The noise of the layer nce, as the job file gives it.  Used by nce.
#ifndef PS_MODEL_LAYERS_NOISE_H_
#define PS_MODEL_LAYERS_NOISE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/fwd.h"
#include "math/noise_distribution.h"

namespace ps {

// check_noise checks the value in the job file: "uniform", "log_uniform" or {"file": path}; make_noise makes
// the distribution.  Both throw kUsage, beginning with `path`.
void check_noise(const Json& noise, std::string_view path);
NoiseDistribution make_noise(const Json& noise, int64_t classes);

// The weights in a file: the last field of each line, so that a vocabulary with counts serves as it is.
std::vector<double> read_class_weights(const std::string& file, int64_t classes);

}  // namespace ps

#endif  // PS_MODEL_LAYERS_NOISE_H_
