// Places the model of a job on a device, if the processor does not compute it.  Used by run_job.
#ifndef PS_JOB_MODEL_PLACEMENT_H_
#define PS_JOB_MODEL_PLACEMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "job/job.h"
#include "job/start_strategy.h"
#include "math/device.h"
#include "model/network.h"

namespace ps {

// "the model runs on device emulated; layers that run on the processor, with copies: conv (conv2d)"
std::string describe_model_placement(const Job& job, const std::vector<std::string>& others);

// Opens the device, logs which layers run there, and makes the network prepare batches for it; `host` outlives
// it.  Returns null if the model runs on the processor.  Throws kUsage if there is no such device.
std::unique_ptr<Device> place_model(const Job& job, Network<float>& network, Device& host,
                                    ModelPlacement& placement, Log& log);

}  // namespace ps

#endif  // PS_JOB_MODEL_PLACEMENT_H_
