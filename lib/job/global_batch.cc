#include "job/global_batch.h"

#include "base/error.h"
#include "config/json.h"
#include "strategy/strategy.h"

namespace ps {

namespace {

const Json* find_key(const Json& document, const char* section, const char* key) {
  const auto found = document.find(section);
  if (found == document.end() || !found->is_object()) return nullptr;
  const auto value = found->find(key);
  return value == found->end() ? nullptr : &*value;
}

}  // namespace

void drop_open_batch(Json& document) {
  const Json* own = find_key(document, "data", "batch_size");
  if (own == nullptr || *own != "auto") return;
  if (find_key(document, "data", "global_batch_size") != nullptr) document["data"].erase("batch_size");
}

void divide_global_batch(const Json& document, Job& job) {
  if (!job.data.global_batch_size) return;
  const int64_t whole = *job.data.global_batch_size;
  if (const Json* own = find_key(document, "data", "batch_size")) {
    fail(Code::kUsage, "data.global_batch_size: ", whole, ", but data.batch_size is ", own->dump(),
         ": leave out one of the two");
  }
  const int64_t parts = job.cluster.trainers * job.train.accumulate;
  if (whole % parts != 0) {
    fail(Code::kUsage, "data.global_batch_size: ", whole, " does not divide by ", parts,
         ", which is cluster.trainers times train.accumulate: ", job.cluster.trainers, " times ",
         job.train.accumulate);
  }
  job.data.batch_size = whole / parts;
  job.data.global_batch_size.reset();
}

void check_accumulate(const Job& job) {
  constexpr int64_t kMostExamples = 1 << 20;
  if (job.data.batch_size * job.train.accumulate <= kMostExamples) return;
  fail(Code::kUsage, "train.accumulate: ", job.train.accumulate, " batches of ", job.data.batch_size,
       " examples are more than the ", kMostExamples, " that a step of a trainer may have");
}

int64_t global_batch(const Job& job) {
  const Json strategy = complete_strategy(job.train.strategy);
  const bool alone = strategy.value("consistency", "sync") == "async";
  return job.data.batch_size * job.train.accumulate * (alone ? 1 : job.cluster.trainers);
}

OptimizerPlan optimizer_plan(const Job& job, CpuLevel cpu) {
  return make_optimizer_plan(job.optimizer, job.train.gradient, cpu, global_batch(job));
}

}  // namespace ps
