// Functions for dense gradients that are made on a device and added up whole.  Used by the strategies
// all_reduce and hybrid.
#ifndef PS_STRATEGY_WHOLE_ON_DEVICE_H_
#define PS_STRATEGY_WHOLE_ON_DEVICE_H_

#include "config/json.h"
#include "device/model_devices.h"
#include "store/all_reduce_store.h"
#include "strategy/strategy.h"

namespace ps {

// Returns the device that computes the model, and the parameters there; an empty placement if that is the
// processor.
inline GradientPlacement gradient_placement(const TrainerSetup& setup) {
  if (setup.model_device == nullptr || !setup.trains) return {};
  return {compression_device_of(setup.model_device, setup.device), *setup.on_devices};
}

// Counts the parameters that the device moves, for the result of a run.
inline void count_there(const AllReduceStore& store, Json& counters) {
  if (store.num_there() > 0)
    counters[store.adds_there() ? "added_there" : "trained_there"] = store.num_there();
}

}  // namespace ps

#endif  // PS_STRATEGY_WHOLE_ON_DEVICE_H_
