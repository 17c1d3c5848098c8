#include "bench/process/jobs.h"

#include "config/json.h"

namespace ps {

SynthOptions demo_ids() {
  SynthOptions options;
  options.dim = 18182296;
  options.nnz = {11, 190};
  options.zipf = 1.1;
  options.positive_rate = 0.002;
  return options;
}

Json process_job(const char* text, const std::string& format, int batch_size) {
  Json job = Json::parse(text);
  job["data"] = {{"format", format}, {"batch_size", batch_size}};
  job["train"] = {{"passes", 1}, {"gradient", "sum"}, {"log_period", 0}, {"saving_period", 1}};
  return job;
}

}  // namespace ps
