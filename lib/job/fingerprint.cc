#include "job/fingerprint.h"

#include "base/error.h"
#include "config/json.h"
#include "model/network.h"
#include "ps/client/local_sgd_plan.h"

namespace ps {

namespace {

constexpr int kDefaultPort = 7164;

}  // namespace

std::vector<Address> server_addresses(const Job& job) {
  std::vector<Address> all;
  for (const std::string& text : job.cluster.servers) {
    for (std::string_view one : split(text, ',')) {
      if (one.empty()) continue;
      try {
        all.push_back(parse_address(one, kDefaultPort));
      } catch (const Error& error) {
        throw error.within("cluster.servers");
      }
    }
  }
  return all;
}

bool has_servers(const Job& job) {
  return !job.cluster.discovery.empty() || !server_addresses(job).empty();
}

Json job_fingerprint(const Job& job) {
  const Json whole = effective_job(job);
  return {
      {"job", whole["job"]},
      {"model", whole["model"]},
      {"optimizer", whole["optimizer"]},
      {"train", {{"gradient", job.train.gradient}, {"mode", job.train.mode}, {"max_lag", job.train.max_lag}}},
      {"cluster",
       {{"pull_type", job.cluster.pull_type},
        {"push_type", job.cluster.push_type},
        {"push_error_memory", job.cluster.push_error_memory},
        {"request_timeout", job.cluster.request_timeout}}}};
}

Json job_identity(const Job& job) {
  Json out = job_fingerprint(job);
  out["data"] = {{"batch_size", job.data.batch_size},
                 {"shuffle", job.data.shuffle},
                 {"shuffle_window", job.data.shuffle_window}};
  out["cluster"]["trainers"] = job.cluster.trainers;
  return out;
}

// In mode geo trainers have the optimizers, and servers add.
ServedJob served_job(const Job& job) {
  const bool geo = job.train.geo().has_value();
  auto parameters = [&job, geo](const DataSchema& schema) {
    std::vector<ParameterSpec> specs = Network<float>(job.model, schema, job.job.seed).parameters();
    return geo ? without_tuning(std::move(specs)) : specs;
  };
  return {.fingerprint = job_fingerprint(job),
          .parameters = parameters,
          .optimizers = geo ? addition_plan() : make_optimizer_plan(job.optimizer, job.train.gradient),
          .consistency = job.train.consistency(),
          .trainer_loss = {seconds_duration(job.cluster.trainer_timeout),
                           job.cluster.on_trainer_loss == "continue"},
          .request_timeout = seconds_duration(job.cluster.request_timeout)};
}

}  // namespace ps
