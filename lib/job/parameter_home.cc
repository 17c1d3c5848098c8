#include "job/parameter_home.h"

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "config/json.h"
#include "job/fingerprint.h"
#include "net/tcp/tcp_network.h"
#include "ps/client/local_sgd_store.h"
#include "ps/client/remote_store.h"
#include "store/local_store.h"

namespace ps {

namespace {

class OwnProcess final : public ParameterHome {
 public:
  OwnProcess(const Job& job, const std::vector<ParameterSpec>& parameters, ThreadPool& pool)
      : store_(parameters, make_optimizer_plan(job.optimizer, job.train.gradient), available_memory_bytes(),
               pool) {}
  ParameterStore& store() override { return store_; }
  Group& group() override { return group_; }
  LocalStore* local() override { return &store_; }

 private:
  LocalStore store_;
  LocalGroup group_;
};

class OnServers final : public ParameterHome {
 public:
  OnServers(const RemoteOptions& options, const Job& job, const std::vector<ParameterSpec>& parameters,
            TrainerState* own = nullptr)
      : store_(network_.transport(), options, job.train.consistency(), parameters, job.cluster.row_types(),
               own) {}
  ParameterStore& store() override { return store_; }
  Group& group() override { return store_; }
  RemoteStore& remote() { return store_; }
  Json counters() const override {
    return {{"pushes_dropped", store_.pushes_dropped()}, {"errors_dropped", store_.errors_dropped()}};
  }
  void keep_alive() override { network_.loop().poll(); }
  void settle(double seconds) override { store_.settle(seconds); }
  const std::string& first_cpu() const { return store_.first_cpu(); }

 private:
  TcpNetwork network_{{.local = true}};
  RemoteStore store_;
};

// A copy in this process, which servers bring together with those of others.
class OnServersAndHere final : public ParameterHome {
 public:
  OnServersAndHere(const RemoteOptions& options, const Job& job, const std::vector<ParameterSpec>& parameters,
                   ThreadPool& pool)
      : here_(job, parameters, pool),
        copies_(parameters, job.train.geo()->period, *here_.local()),
        servers_(options, job, parameters, &copies_),
        store_(*job.train.geo(), copies_, servers_.remote()) {}
  ParameterStore& store() override { return store_; }
  Group& group() override { return store_; }
  Json counters() const override { return servers_.counters(); }
  void keep_alive() override { servers_.keep_alive(); }
  void settle(double seconds) override { servers_.settle(seconds); }
  const std::string& first_cpu() const { return servers_.first_cpu(); }

 private:
  OwnProcess here_;
  LocalSgdCopies copies_;
  OnServers servers_;
  LocalSgdStore store_;
};

RemoteOptions remote_options(const Job& job, const RunOptions& options, const DataSchema& schema,
                             ServerFinder& servers, Log& log) {
  RemoteOptions remote;
  remote.servers = servers.find();
  remote.moved = [&servers] { return servers.moved(); };
  remote.server_timeout = seconds_duration(job.cluster.server_timeout);
  remote.request_timeout = seconds_duration(job.cluster.request_timeout);
  remote.hello.role = options.task == "train" ? "train" : "read";
  remote.hello.rank = options.rank;
  remote.hello.trainers = job.cluster.trainers;
  remote.hello.generation = options.generation;
  remote.hello.resume = options.resume;
  remote.hello.passes = job.train.passes;
  remote.hello.lost = options.lost_run;
  remote.hello.cpu = cpu_level_name(cpu_level());
  remote.hello.job = job_fingerprint(job);
  remote.hello.schema = to_json(schema);
  // After the last pass nobody waits for whoever reads the rows one by one, which is less work.
  const bool trains = options.task == "train", by_servers = job.train.load_save_parameters_in_pserver;
  remote.cuts_at_end = [trains, by_servers, &job](int64_t pass) {
    return trains && job.train.saves_after(pass) && (by_servers || pass + 1 < job.train.passes);
  };
  remote.stop = options.stop;
  remote.on_waiting = [&log](const std::string& text) { log.info(text); };
  return remote;
}

void warn_of_kernels(std::string_view first, Log& log) {
  const std::string_view ours = cpu_level_name(cpu_level());
  if (ours == first) return;
  log.warning("this trainer has ", ours, " kernels, the one that came first ", first,
              ": products of dense matrices may round differently from machine to machine; --cpu on all "
              "trainers fixes them");
}

std::unique_ptr<ParameterHome> connect(const Job& job, const RemoteOptions& remote, const RunOptions& options,
                                       const std::vector<ParameterSpec>& parameters, ThreadPool& pool,
                                       Log& log) {
  if (options.task != "train") return std::make_unique<OnServers>(remote, job, parameters);
  if (job.train.geo()) {
    auto home = std::make_unique<OnServersAndHere>(remote, job, parameters, pool);
    warn_of_kernels(home->first_cpu(), log);
    return home;
  }
  auto home = std::make_unique<OnServers>(remote, job, parameters);
  warn_of_kernels(home->first_cpu(), log);
  return home;
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
  if (options.resume) {
    if (options.task != "train") fail(Code::kUsage, "--resume is for training");
    if (!options.init_model.empty())
      fail(Code::kUsage, "--resume goes on from a checkpoint: leave out --init-model");
    if (job.checkpoint.directory.empty() && !has_servers(job)) {
      fail(Code::kUsage, "--resume: there is no checkpoint.directory: give --checkpoint-dir");
    }
  }
  if (job.train.load_save_parameters_in_pserver && job.checkpoint.directory.empty()) {
    fail(Code::kUsage,
         "train.load_save_parameters_in_pserver: there is no checkpoint.directory: give --checkpoint-dir");
  }
  if (!has_servers(job)) {
    if (trainers > 1) fail(Code::kUsage, trainers, " trainers need servers: give --servers or --discovery");
    return;
  }
  if (options.task != "train" && !options.init_model.empty()) {
    fail(Code::kUsage, "--init-model is for training: to ", options.task, " with servers, use their weights");
  }
}

std::unique_ptr<ParameterHome> make_home(const Job& job, const RunOptions& options, const DataSchema& schema,
                                         const std::vector<ParameterSpec>& parameters, ServerFinder& servers,
                                         ThreadPool& pool, Log& log) {
  if (!has_servers(job)) return std::make_unique<OwnProcess>(job, parameters, pool);
  for (;;) {
    try {
      return connect(job, remote_options(job, options, schema, servers, log), options, parameters, pool, log);
    } catch (const ServersMoved& moved) {
      log.info(moved.message());
    }
  }
}

}  // namespace ps
