#include "job/run_plan.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "job/compute.h"
#include "job/model_placement.h"
#include "job/start_strategy.h"
#include "job/table_plan.h"

namespace ps {

static Json log_tables(const Job& job, const RunOptions& options, const Network<float>& network,
                       BatchReader& reader, Log& log) {
  const std::vector<ParameterSpec>& specs = network.parameters();
  const bool grows = std::ranges::any_of(specs, [](const ParameterSpec& spec) { return spec.sparse; });
  std::optional<std::vector<double>> rows;
  if (grows && !reader.may_wait()) rows = count_rows_of_pass(network, reader, options.stop);
  Json tables = table_plan(job, network, rows);
  log.info(table_plan_text(tables));
  return tables;
}

Json log_run_plan(const Job& job, const RunOptions& options, const Network<float>& network,
                  BatchReader& reader, Log& log) {
  log.info("would ", options.task, " with ", options.threads, " threads and ", cpu_level_name(options.cpu),
           " kernels on ", reader.format(), " data\n", network.describe());
  if (options.role == "reader") log.info(describe_cut(network.parameters()));
  if (options.task == "train" && job.device.caches_rows()) {
    log.info("on device ", job.device.type, "\n", describe_device(job, network.parameters()));
  }
  if (job.device.runs_model()) log.info(describe_model_placement(job, network.layers_without_device()));
  if (options.task != "train") return nullptr;
  return log_tables(job, options, network, reader, log);
}

}  // namespace ps
