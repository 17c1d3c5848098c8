// The state that an optimizer keeps beside the weights of a dense parameter, as one array.  Used by
// AveragingStore, whose trainers average it, and write it into checkpoints.
#ifndef PS_STORE_STATE_ARRAYS_H_
#define PS_STORE_STATE_ARRAYS_H_

#include <vector>

#include "optim/parameter.h"
#include "store/local_store.h"

namespace ps {

// Returns the state [rows, arrays, cols] of parameter number `parameter`, which is dense and described by
// `spec`; it is empty if its optimizer keeps none.
std::vector<float> copy_state(const LocalStore& store, int parameter, const ParameterSpec& spec);

// Sets the state; `state` has as many values as copy_state returns.  Weights do not change.
void put_state(LocalStore& store, int parameter, const ParameterSpec& spec, const std::vector<float>& state);

}  // namespace ps

#endif  // PS_STORE_STATE_ARRAYS_H_
