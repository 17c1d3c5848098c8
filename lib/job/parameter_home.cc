#include "job/parameter_home.h"

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "job/agreement.h"
#include "net/tcp/tcp_network.h"
#include "ps/local_store.h"
#include "ps/remote_store.h"

namespace ps {

namespace {

class OwnProcess final : public ParameterHome {
 public:
  OwnProcess(const Job& job, const std::vector<ParameterSpec>& parameters, ThreadPool& pool)
      : store_(parameters, make_optimizer_plan(job.optimizer, job.train.gradient), available_memory_bytes(),
               pool) {}
  ParameterStore& store() override { return store_; }
  Group& group() override { return group_; }

 private:
  LocalStore store_;
  LocalGroup group_;
};

class OnServers final : public ParameterHome {
 public:
  OnServers(const RemoteOptions& options, const Job& job, const std::vector<ParameterSpec>& parameters)
      : store_(network_.transport(), options, job.train.consistency(), parameters, job.cluster.row_types()) {}
  ParameterStore& store() override { return store_; }
  Group& group() override { return store_; }
  Json counters() const override {
    return {{"pushes_dropped", store_.pushes_dropped()}, {"errors_dropped", store_.errors_dropped()}};
  }
  void keep_alive() override { network_.loop().poll(); }
  const std::string& first_cpu() const { return store_.first_cpu(); }

 private:
  TcpNetwork network_;
  RemoteStore store_;
};

RemoteOptions remote_options(const Job& job, const RunOptions& options, const DataSchema& schema, Log& log) {
  RemoteOptions remote;
  remote.servers = server_addresses(job);
  remote.server_timeout = seconds_duration(job.cluster.server_timeout);
  remote.request_timeout = seconds_duration(job.cluster.request_timeout);
  remote.hello.role = options.task == "train" ? "train" : "read";
  remote.hello.rank = options.rank;
  remote.hello.trainers = job.cluster.trainers;
  remote.hello.generation = options.generation;
  remote.hello.cpu = cpu_level_name(cpu_level());
  remote.hello.job = job_fingerprint(job);
  remote.hello.schema = to_json(schema);
  remote.on_waiting = [&log](const std::string& text) { log.info(text); };
  return remote;
}

}  // namespace

void check_part(const Job& job, const RunOptions& options) {
  const int trainers = job.cluster.trainers;
  if (options.rank >= trainers) {
    fail(Code::kUsage, "rank ", options.rank, " is not below the number of trainers, ", trainers,
         ": give --trainers");
  }
  if (trainers > 1 && options.task != "train") {
    fail(Code::kUsage, "only training is shared by trainers; ", options.task, " runs in one process");
  }
  if (server_addresses(job).empty()) {
    if (trainers > 1) fail(Code::kUsage, trainers, " trainers need servers: give --servers");
    return;
  }
  if (options.task != "train" && !options.init_model.empty()) {
    fail(Code::kUsage, "--init-model is for training: to ", options.task, " with servers, use their weights");
  }
}

std::unique_ptr<ParameterHome> make_home(const Job& job, const RunOptions& options, const DataSchema& schema,
                                         const std::vector<ParameterSpec>& parameters, ThreadPool& pool,
                                         Log& log) {
  if (server_addresses(job).empty()) return std::make_unique<OwnProcess>(job, parameters, pool);
  auto home = std::make_unique<OnServers>(remote_options(job, options, schema, log), job, parameters);
  const std::string_view ours = cpu_level_name(cpu_level()), first = home->first_cpu();
  if (options.task == "train" && ours != first) {
    log.warning("this trainer has ", ours, " kernels, the one that came first ", first,
                ": products of dense matrices may round differently from machine to machine; --cpu on all "
                "trainers fixes them");
  }
  return home;
}

}  // namespace ps
