#include "job/fingerprint.h"

#include "base/error.h"
#include "config/json.h"
#include "model/network.h"
#include "strategy/strategy.h"

namespace ps {

namespace {

constexpr int kDefaultPort = 7164;

}  // namespace

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

Json job_fingerprint(const Job& job) {
  const Json whole = effective_job(job);
  return {{"job", whole["job"]},
          {"model", whole["model"]},
          {"optimizer", whole["optimizer"]},
          {"train", {{"gradient", job.train.gradient}, {"strategy", whole["train"]["strategy"]}}},
          {"cluster", {{"request_timeout", job.cluster.request_timeout}}}};
}

Json job_identity(const Job& job) {
  Json out = job_fingerprint(job);
  out["data"] = {{"batch_size", job.data.batch_size},
                 {"shuffle", job.data.shuffle},
                 {"shuffle_window", job.data.shuffle_window}};
  if (job.data.validation > 0) out["data"]["validation"] = job.data.validation;  // other lines are trained on
  out["cluster"]["trainers"] = job.cluster.trainers;
  return out;
}

ServerPlan server_plan(const Job& job) {
  const StrategyEntry& strategy = find_strategy(job.train.strategy);
  if (strategy.serve == nullptr) {
    fail(Code::kUsage, "train.strategy.type: ", strategy.name, " has no servers");
  }
  return strategy.serve(job.train.strategy, make_optimizer_plan(job.optimizer, job.train.gradient));
}

ServedJob served_job(const Job& job) {
  const ServerPlan plan = server_plan(job);
  auto parameters = [&job, plan](const DataSchema& schema) {
    return plan.parameters(Network<float>(job.model, schema, job.job.seed).parameters());
  };
  return {.fingerprint = job_fingerprint(job),
          .parameters = parameters,
          .optimizers = plan.optimizers,
          .consistency = plan.consistency,
          .trainer_loss = {seconds_duration(job.cluster.trainer_timeout),
                           job.cluster.on_trainer_loss == "continue"},
          .request_timeout = seconds_duration(job.cluster.request_timeout)};
}

}  // namespace ps
