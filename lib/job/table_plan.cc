#include "job/table_plan.h"

#include <algorithm>
#include <cmath>

#include "base/distinct_counter.h"
#include "base/text.h"
#include "config/json.h"
#include "job/global_batch.h"
#include "table/dense_arrays.h"
#include "table/sparse_table.h"

namespace ps {

namespace {

// Returns the plan of a sparse table, which begins empty.  `rows` is the number of rows after a pass, if it
// was counted; an empty table tells how many bytes a new row takes with its state.
Json sparse_plan(const ParameterSpec& spec, const OptimizerPlan& optimizers, std::optional<double> rows) {
  const SparseTable empty(spec.cols, 0, spec.initializer, optimizers.make(spec.tuning), spec.row_policy);
  Json out = {{"table", spec.name}, {"kind", "sparse"}, {"rows", 0}, {"bytes", 0}};
  if (!rows) {
    out.update({{"rows_after_pass", nullptr}, {"bytes_after_pass", nullptr}});
    return out;
  }
  auto after = static_cast<uint64_t>(std::llround(*rows));
  if (spec.rows > 0) after = std::min(after, static_cast<uint64_t>(spec.rows));
  out.update({{"rows_after_pass", after}, {"bytes_after_pass", after * empty.new_row_bytes()}});
  return out;
}

// Returns the plan of a dense table, which has all of its rows and their state from the beginning.
Json dense_plan(const ParameterSpec& spec, const OptimizerPlan& optimizers) {
  const bool trained = spec.kind != ParameterKind::kStatistic;
  const int arrays = trained ? optimizers.make(spec.tuning)->state_arrays() : 0;
  const uint64_t bytes = DenseArrays::bytes_needed(spec.rows, spec.cols, arrays);
  return {{"table", spec.name},           {"kind", "dense"},          {"rows", spec.rows}, {"bytes", bytes},
          {"rows_after_pass", spec.rows}, {"bytes_after_pass", bytes}};
}

}  // namespace

// Prepares every batch of a pass as training would, and counts the different keys of each sparse parameter.
// Counters estimate, in little memory, since the keys themselves might not fit.  Returns nullopt if `stop`
// ends it.
std::optional<std::vector<double>> count_rows_of_pass(const Network<float>& network, BatchReader& reader,
                                                      const std::function<bool()>& stop) {
  const std::vector<ParameterSpec>& specs = network.parameters();
  std::vector<DistinctCounter> counters(specs.size());
  Network<float>::Planners planners = network.make_planners();
  PreparedBatch prepared;  // prepared for training, in which layers draw samples too
  reader.begin_pass(0);
  for (; reader.next(prepared.batch); ++prepared.step) {
    if (stop()) return std::nullopt;
    network.prepare(planners, prepared);
    for (size_t p = 0; p < specs.size(); ++p) {
      if (!specs[p].sparse) continue;
      for (uint64_t key : prepared.plans[p].keys) counters[p].add(key);
    }
  }
  std::vector<double> counts;
  for (const DistinctCounter& counter : counters) counts.push_back(counter.count());
  return counts;
}

Json table_plan(const Job& job, const Network<float>& network,
                const std::optional<std::vector<double>>& pass_rows) {
  const OptimizerPlan optimizers = optimizer_plan(job);
  Json out = Json::array();
  for (size_t p = 0; p < network.parameters().size(); ++p) {
    const ParameterSpec& spec = network.parameters()[p];
    const std::optional<double> rows = pass_rows ? std::optional((*pass_rows)[p]) : std::nullopt;
    out.push_back(spec.sparse ? sparse_plan(spec, optimizers, rows) : dense_plan(spec, optimizers));
  }
  return out;
}

std::string table_plan_text(const Json& plan) {
  std::string out;
  for (const Json& table : plan) {
    const bool sparse = table["kind"] == "sparse";
    out += cat(out.empty() ? "" : "\n", "table ", table["table"].get<std::string>(), ": ",
               human_bytes(table["bytes"].get<uint64_t>()));
    if (!sparse) {
      out += cat(", all ", table["rows"].get<uint64_t>(), " rows");
    } else if (table["bytes_after_pass"].is_null()) {
      out += ", and rows as they occur";
    } else {
      out += cat(", about ", human_bytes(table["bytes_after_pass"].get<uint64_t>()), " after a pass, of ",
                 table["rows_after_pass"].get<uint64_t>(), " rows");
    }
  }
  return out;
}

}  // namespace ps
