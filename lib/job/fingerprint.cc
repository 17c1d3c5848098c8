#include "job/fingerprint.h"

#include "base/error.h"
#include "config/catalog.h"
#include "config/json.h"
#include "job/global_batch.h"
#include "model/wiring.h"
#include "optim/optimizer.h"
#include "ps/client/ahead_store.h"
#include "strategy/strategy.h"

namespace ps {

namespace {

constexpr int kDefaultPort = 7164;

// Removes the key `device` from each layer that has this value; null: from all layers.
void leave_out_devices(Json& model, const char* value) {
  for (Json& layer : model["layers"]) {
    const auto device = layer.find("device");
    if (device != layer.end() && (value == nullptr || *device == value)) layer.erase(device);
  }
}

// Removes the key `l2_mode` from an optimizer if it has the default.  Servers and checkpoints from before there
// was that key do not have it.
void leave_out_l2_mode(Json& optimizer) {
  const auto mode = optimizer.find("l2_mode");
  if (mode == optimizer.end()) return;
  const Json type = {{"type", optimizer["type"]}};
  const Json standard =
      complete_entry(find_entry(optimizer_catalog(), type, "optimizer", "optimizer"), type, "optimizer");
  if (*mode == standard.at("l2_mode")) optimizer.erase(mode);
}

// Removes the key `label` from the cost and the evaluators that have no label of their own, for the same reason.
void leave_out_labels(Json& model) {
  const auto leave_out = [](Json& object) {
    if (object.is_object() && object.value("label", "set").empty()) object.erase("label");
  };
  leave_out(model["cost"]);
  for (Json& evaluator : model["evaluators"]) leave_out(evaluator);
}

}  // namespace

// Each element of the list may itself have several addresses with commas between, as a flag has.
std::vector<Address> parse_addresses(const std::vector<std::string>& lists, const char* key) {
  std::vector<Address> all;
  for (const std::string& text : lists) {
    for (std::string_view one : split(text, ',')) {
      if (one.empty()) continue;
      try {
        all.push_back(parse_address(one, kDefaultPort));
      } catch (const Error& error) {
        throw error.within(key);
      }
    }
  }
  return all;
}

std::vector<Address> server_addresses(const Job& job) {
  return parse_addresses(job.cluster.servers, "cluster.servers");
}

std::vector<Address> peer_addresses(const Job& job) {
  return parse_addresses(job.cluster.peers, "cluster.peers");
}

bool has_servers(const Job& job) {
  return !job.cluster.discovery.empty() || !server_addresses(job).empty();
}

// pull_ahead is in the fingerprint only if it is used: servers must know of a trainer that pulls ahead.
Json job_fingerprint(const Job& job) {
  const Json whole = effective_job(job);
  Json out = {{"job", whole["job"]},
              {"model", whole["model"]},
              {"optimizer", whole["optimizer"]},
              {"train", {{"gradient", job.train.gradient}, {"strategy", whole["train"]["strategy"]}}},
              {"cluster", {{"request_timeout", job.cluster.request_timeout}}}};
  if (job.train.pull_ahead > 0) out["train"]["pull_ahead"] = job.train.pull_ahead;
  leave_out_devices(out["model"], "default");
  leave_out_labels(out["model"]);
  out["model"].erase("calibration");  // of saved models: training leaves it alone
  leave_out_l2_mode(out["optimizer"]);
  if (out["optimizer"].contains("scale_rate")) {
    out["optimizer"]["scale_rate"]["examples_of_a_step"] = global_batch(job);
  }
  return out;
}

// Adds to the fingerprint the keys on which the order of examples depends, and leaves out those that change
// nothing of the bits: devices, and how far a trainer pulls ahead.  A key that came to be later is added
// only if it is set, so that checkpoints from before it still have the same identity.
Json job_identity(const Job& job) {
  Json out = job_fingerprint(job);
  const Json whole_data = effective_job(job)["data"];
  out["train"].erase("pull_ahead");
  leave_out_devices(out["model"], nullptr);
  out["data"] = {{"batch_size", job.data.batch_size},
                 {"shuffle", job.data.shuffle},
                 {"shuffle_window", job.data.shuffle_window}};
  // The features of an example depend on these, which checkpoints of former versions do not have (comparable_job).
  for (const char* key : {"cross", "dense", "hash_bits", "log_counts", "unit_length"})
    out["data"][key] = whole_data.at(key);
  const DataOptions& data = job.data;
  // The training examples depend on the following keys, which are added only if they are set.
  if (job.train.accumulate > 1) out["train"]["accumulate"] = job.train.accumulate;
  if (data.validation > 0) out["data"]["validation"] = data.validation;
  if (!data.validation_by.empty()) out["data"]["validation_by"] = data.validation_by;
  if (!data.validation_values.empty()) out["data"]["validation_values"] = data.validation_values;
  if (data.negative_rate < 1) out["data"]["negative_rate"] = data.negative_rate;
  if (data.text.context_after > 0) out["data"]["text"]["context_after"] = data.text.context_after;
  if (data.text.shrink_windows) out["data"]["text"]["shrink_windows"] = true;
  if (data.text.subsample > 0) out["data"]["text"]["subsample"] = data.text.subsample;
  out["cluster"]["trainers"] = job.cluster.trainers;
  return out;
}

// Checks the strategy, then the consistency, then the codec: each must keep a trainer's copies equal to the
// servers' rows.
void check_pull_ahead(const Job& job) {
  if (job.train.pull_ahead == 0) return;
  const std::string ahead = cat("train.pull_ahead: ", job.train.pull_ahead, ", but ");
  const Json strategy = complete_strategy(job.train.strategy);
  check_exchanges_each_batch(strategy, ahead, "a trainer pulls ahead", "leave out one of the two");
  const bool async = strategy["consistency"] == "async";
  if (strategy["consistency"] == "staleness") {
    fail(Code::kUsage, ahead, "train.strategy.consistency is 'staleness', with which no step waits anyway: ",
         "leave out one of the two");
  }
  if (async && strategy["max_lag"] != 0) {
    fail(
        Code::kUsage, ahead, "train.strategy.max_lag is ", strategy["max_lag"].get<int64_t>(),
        ", and the weights of a batch on its way are older than its reader's last: leave out one of the two");
  }
  const Json& codec = strategy["codec"];
  if (codec["push"] != "f32" || codec["pull"] != "f32") {
    fail(Code::kUsage, ahead,
         "train.strategy.codec rounds rows, and the trainer's copies would not be the servers' rows: leave "
         "out one of the two");
  }
}

void check_max_trainers(const Job& job) {
  const ClusterOptions& cluster = job.cluster;
  if (cluster.ranks() == cluster.trainers) return;
  const std::string join = cat("cluster.max_trainers is ", cluster.max_trainers, ", more than the ",
                               cluster.trainers, " of cluster.trainers, but ");
  check_exchanges_each_batch(job.train.strategy, join, "trainers join a running job",
                             "leave out cluster.max_trainers");
  if (cluster.on_trainer_loss != "continue") {
    fail(Code::kUsage, join, "cluster.on_trainer_loss is ", quote(cluster.on_trainer_loss),
         ", with which a job needs all of its ranks: set it to continue, or leave out cluster.max_trainers");
  }
  if (job.train.pull_ahead > 0) {
    fail(Code::kUsage, join, "train.pull_ahead is ", job.train.pull_ahead,
         ": trainers that join know nothing of batches on their way; leave out one of the two");
  }
}

// Checks what servers and trainers must agree on, and then asks the strategy.  Servers that are to answer
// pulls ahead are told so by the consistency.
ServerPlan server_plan(const Job& job, CpuLevel cpu) {
  const StrategyEntry& strategy = find_strategy(job.train.strategy);
  if (strategy.serve == nullptr) {
    fail(Code::kUsage, "train.strategy.type: ", strategy.name, " has no servers");
  }
  check_pull_ahead(job);
  check_max_trainers(job);
  ServerPlan plan = strategy.serve(job.train.strategy, optimizer_plan(job, cpu));
  if (job.train.pull_ahead > 0) plan.consistency.ahead = ahead_consistency(job.train.pull_ahead).ahead;
  return plan;
}

// The parameters follow from the schema of the data, which servers do not read: the first trainer brings it
// in its hello.
ServedJob served_job(const Job& job, CpuLevel cpu) {
  const ServerPlan plan = server_plan(job, cpu);
  auto parameters = [&job, plan](const DataSchema& schema) {
    return plan.parameters(model_parameters(job.model, schema, job.job.seed));
  };
  return {.fingerprint = job_fingerprint(job),
          .parameters = parameters,
          .optimizers = plan.optimizers,
          .consistency = plan.consistency,
          .push_codec = plan.push_codec,
          .trainer_loss = {seconds_duration(job.cluster.trainer_timeout),
                           job.cluster.on_trainer_loss == "continue"},
          .request_timeout = seconds_duration(job.cluster.request_timeout)};
}

}  // namespace ps
