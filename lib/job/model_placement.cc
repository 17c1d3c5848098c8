#include "job/model_placement.h"

#include "base/text.h"
#include "device/model_devices.h"

namespace ps {

std::string describe_model_placement(const Job& job, const std::vector<std::string>& others) {
  std::string text = cat("the model runs on device ", job.device.type);
  if (!others.empty()) text += "; layers that run on the processor, with copies: ";
  for (size_t i = 0; i < others.size(); ++i) text += (i > 0 ? ", " : "") + others[i];
  return text;
}

std::unique_ptr<Device> place_model(const Job& job, Network<float>& network, Device& host,
                                    ModelPlacement& placement, Log& log) {
  if (!job.device.runs_model()) return nullptr;
  placement = {open_model_device(job.device.type), &network.on_devices()};
  network.prepare_for_devices();
  log.info(describe_model_placement(job, network.layers_without_device()));
  return device_of(host, placement.device);
}

}  // namespace ps
