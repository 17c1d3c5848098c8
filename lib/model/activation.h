// The names that activations have in the job file.  Used by the options of layers and by Network;
// math/activation.h computes them.
#ifndef PS_MODEL_ACTIVATION_H_
#define PS_MODEL_ACTIVATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "math/activation.h"

namespace ps {

// Names in the job file, in the order of the manual.
std::vector<std::string> activation_names();

// `name` is one of activation_names().
Activation find_activation(std::string_view name);

}  // namespace ps

#endif  // PS_MODEL_ACTIVATION_H_
