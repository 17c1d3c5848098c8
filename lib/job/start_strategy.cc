#include "job/start_strategy.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/memory.h"
#include "config/json.h"
#include "device/cache_plan.h"
#include "device/device_type.h"
#include "device/model_devices.h"
#include "job/fingerprint.h"
#include "job/global_batch.h"

namespace ps {

namespace {

// Returns the options with which trainers meet each other. --resume and --init-model must agree only without
// servers, since trainers with servers begin with the servers' state, however each was started.
PeerOptions peer_options(const Job& job, const RunOptions& options, const DataSchema& schema) {
  const Duration timeout = seconds_duration(job.cluster.trainer_timeout);
  Json agreed = job_identity(job);
  agreed["train"]["passes"] = job.train.passes;
  agreed["schema"] = to_json(schema);
  if (!has_servers(job)) {
    agreed["checkpoint"]["directory"] = job.checkpoint.directory.empty() ? "none" : "given";
    agreed["--resume"] = options.resume;
    agreed["--init-model"] = options.init_model.empty() ? "none" : "given";
  }
  return {.mpi = job.cluster.collective == "mpi",
          .nccl = job.cluster.collective == "nccl",
          .peers = peer_addresses(job),
          .rank = options.rank,
          .size = job.cluster.trainers,
          .connections = job.cluster.connections,
          .nonce = options.generation,
          .name = job.job.name,
          .nccl_library = job.cluster.nccl_library,
          .job = std::move(agreed),
          .join_timeout = timeout,
          .timeout = timeout};
}

// Throws kUsage if trainers with servers cannot also meet each other in this job.
void check_meets_beside_servers(const Job& job, const RunOptions& options) {
  const std::string name = cat("train.strategy.type: ", find_strategy(job.train.strategy).name);
  if (options.task != "train") return;
  if (job.cluster.on_trainer_loss == "continue") {
    fail(Code::kUsage, name,
         ": trainers that add up gradients among themselves cannot go on without one: leave out ",
         "cluster.on_trainer_loss continue");
  }
  if (job.cluster.collective == "mpi") {
    fail(Code::kUsage, name, ": a trainer that waits in MPI would hear nothing of its servers: leave out ",
         "cluster.collective mpi, and give --peers HOST:PORT");
  }
  if (job.cluster.collective == "nccl") {
    fail(Code::kUsage, name, ": trainers with servers add up dense gradients over TCP alone: leave out ",
         "cluster.collective nccl");
  }
  if (job.cluster.trainers == 1) return;
  if (peer_addresses(job).empty()) {
    fail(Code::kUsage, name, ": ", job.cluster.trainers,
         " trainers add up dense gradients among themselves: give ",
         "--peers HOST:PORT, where trainer 0 is to listen");
  }
  check_peers(peer_options(job, options, {}));
}

// Throws kUsage unless the strategy is parameter_server in synchronous mode, or one whose trainers own rows, without
// coded rows.  With these a device can train rows of servers.
void check_device_with_servers(const Job& job, const std::string& device) {
  const Json strategy = complete_strategy(job.train.strategy);
  const StrategyEntry& entry = find_strategy(strategy);
  if (!entry.trains_rows_on_devices()) {
    std::vector<std::string> names;
    for (const StrategyEntry* other : strategy_catalog()) {
      if (other->trains_rows_on_devices()) names.emplace_back(other->name);
    }
    fail(Code::kUsage, device, "train.strategy.type is ", quote(entry.name),
         ": a device trains rows of servers with ", join(names, " or "), " alone; leave out one of the two");
  }
  if (entry.exchanges_each_batch && strategy["consistency"] != "sync") {
    fail(Code::kUsage, device, "train.strategy.consistency is ",
         quote(strategy["consistency"].get<std::string>()),
         ", and rows on a device are in step with their servers: leave out one of the two");
  }
  if (strategy["codec"]["push"] != "f32" || strategy["codec"]["pull"] != "f32") {
    fail(Code::kUsage, device,
         "train.strategy.codec rounds rows, and a device trains them as they are: leave out one of the two");
  }
  if (job.train.pull_ahead > 0) {
    fail(Code::kUsage, device, "train.pull_ahead is ", job.train.pull_ahead,
         ", which keeps rows on the processor: leave it out; device.window says how far ahead a device "
         "fetches rows");
  }
}

// Throws kUsage if a device would compute the model, but an emulated computation stands in for it.
void check_model_device(const Job& job) {
  if (!job.device.runs_model() || !job.train.emulated_compute) return;
  fail(Code::kUsage, "device.trains: ", quote(job.device.trains),
       ", but train.emulated_compute computes nothing: leave out one of the two");
}

// Throws kUsage if NCCL is used without a model on a device, in whose memory it adds.
void check_nccl_device(const Job& job) {
  if (job.cluster.collective != "nccl" || job.device.runs_model()) return;
  fail(Code::kUsage,
       "cluster.collective: nccl adds up in the memory of a device, and the model is computed on the ",
       "processor: give --device cuda:N and --set device.trains=model");
}

// Throws kUsage if a plain trainer is to pull ahead with other trainers or in asynchronous mode.  Readers may
// do so: they leave the copies of shared rows to a compute trainer, and have batches on their way even if no
// step waits.
void check_pulls_ahead_alone(const Job& job, const RunOptions& options) {
  const Json strategy = complete_strategy(job.train.strategy);
  if (job.train.pull_ahead == 0 || options.task != "train" || options.role != "trainer") return;
  if (strategy["consistency"] != "async") {
    if (job.cluster.trainers == 1) return;
    fail(Code::kUsage, "train.pull_ahead: ", job.train.pull_ahead, ", but ", job.cluster.trainers,
         " trainers push rows of which this one keeps copies: train with one trainer, with --role reader, or "
         "leave out train.pull_ahead");
  }
  fail(Code::kUsage, "train.pull_ahead: ", job.train.pull_ahead,
       ", but train.strategy.consistency is 'async', with which no step of a plain trainer waits anyway: "
       "leave out one of the two, or train with --role reader");
}

// Throws kUsage unless the job's device can do its work in this run.  Rows are trained there by a trainer
// alone, with or without servers, or by trainers with servers whose strategy divides the rows among them.
void check_device(const Job& job, const RunOptions& options) {
  check_model_device(job);
  if (!job.device.caches_rows() || options.task != "train") return;
  const std::string device = cat("device.type: ", quote(job.device.type), ", but ");
  if (job.cluster.ranks() > 1 && !(has_servers(job) && find_strategy(job.train.strategy).owns_rows)) {
    fail(Code::kUsage, device, job.cluster.ranks(),
         " trainers exchange rows, which devices of several trainers train with servers and train.strategy "
         "hybrid "
         "alone: name it, leave out --trainers, or train with --device cpu");
  }
  if (has_servers(job)) check_device_with_servers(job, device);
}

// Throws kUsage if a layer is divided over trainers, which compute each other's batches, and the job does not
// allow that.
void check_divided(const Job& job, const RunOptions& options, const std::vector<ParameterSpec>& parameters) {
  if (options.task != "train" || job.cluster.trainers == 1) return;
  const auto split = std::ranges::find_if(parameters, [](const ParameterSpec& spec) { return spec.split; });
  if (split == parameters.end()) return;
  const StrategyEntry& strategy = find_strategy(job.train.strategy);
  if (!strategy.divides_layers) {
    fail(Code::kUsage, quote(split->name), " is divided over ", job.cluster.trainers,
         " trainers (\"parallel\": \"model\"), which train.strategy all_reduce does, found ", strategy.name);
  }
  if (job.train.accumulate > 1) {
    fail(
        Code::kUsage, "train.accumulate: ", quote(split->name),
        " is divided over trainers (\"parallel\": \"model\"), which compute one batch a step together: leave "
        "out one of the two");
  }
  if (job.train.emulated_compute) {
    fail(Code::kUsage, "train.emulated_compute: ", quote(split->name),
         " is divided over trainers (\"parallel\": \"model\"), which exchange what they compute: leave out "
         "one of the two");
  }
}

// Warns if this trainer computes with other kernels than the first one, `first`, whose sums may differ in
// their last bits.
void warn_of_kernels(CpuLevel cpu, std::string_view first, Log& log) {
  const std::string_view ours = cpu_level_name(cpu);
  if (first.empty() || ours == first) return;
  log.warning("this trainer has ", ours, " kernels, the one that came first ", first,
              ": products of dense matrices may round differently from machine to machine; --cpu on all "
              "trainers fixes them");
}

}  // namespace

// Makes the options of the connections, and the hello by which servers recognise the job and this process.
// Each server that is missing is noted for the status page; the notes of an earlier attempt to connect are
// dropped first.
RemoteOptions remote_options(const Job& job, const RunOptions& options, const DataSchema& schema,
                             ServerFinder& servers, Log& log) {
  RemoteOptions remote;
  options.missing_servers->clear();
  remote.on_missing = [missing = options.missing_servers](const std::string& server,
                                                          const std::string& message) {
    missing->note(server, message);
  };
  remote.servers = servers.find();
  remote.moved = [&servers] { return servers.moved(); };
  remote.server_timeout = seconds_duration(job.cluster.server_timeout);
  remote.request_timeout = seconds_duration(job.cluster.request_timeout);
  remote.hello.role = options.task == "train" ? "train" : "read";
  remote.hello.rank = options.rank;
  remote.hello.trainers = job.cluster.trainers;
  remote.hello.max_trainers = job.cluster.max_trainers;
  remote.hello.generation = options.generation;
  remote.hello.resume = options.resume;
  remote.hello.passes = job.train.passes;
  remote.hello.lost = options.lost_run;
  remote.cpu = options.cpu;
  remote.hello.cpu = cpu_level_name(options.cpu);
  remote.hello.job = job_fingerprint(job);
  remote.hello.schema = to_json(schema);
  // After the last pass no trainer waits, so rows are read one by one, which is less work.
  const bool trains = options.task == "train", by_servers = job.train.load_save_parameters_in_pserver;
  remote.checkpoint_at_end = [trains, by_servers, &job](int64_t pass) {
    return trains && job.train.saves_after(pass) && (by_servers || pass + 1 < job.train.passes);
  };
  remote.dense_elsewhere = options.role == "reader";
  remote.stop = options.stop;
  remote.on_waiting = [&log](const std::string& text) { log.info(text); };
  return remote;
}

// Throws kUsage unless trainers can join this job.  Servers tell a joining trainer the position of the run.
static void check_joins(const Job& job, const RunOptions& options) {
  if (job.cluster.ranks() == job.cluster.trainers) return;
  check_max_trainers(job);
  const std::string join = cat("cluster.max_trainers is ", job.cluster.max_trainers, ", but ");
  if (!has_servers(job))
    fail(Code::kUsage, join, "nobody joins without servers: give --servers or --discovery");
  if (options.role == "trainer") return;
  fail(Code::kUsage, join, "--role ", options.role,
       " has its place from the beginning: leave out --max-trainers");
}

// Checks the rank, the task and the device first, then --resume and models, and last whether strategy, servers
// and peers fit together.
void check_part(const Job& job, const RunOptions& options) {
  const int trainers = job.cluster.trainers;
  if (options.rank >= job.cluster.ranks()) {
    fail(Code::kUsage, "rank ", options.rank, " is not below the number of trainers, ", job.cluster.ranks(),
         ": give --trainers, or, to join a running job, --max-trainers");
  }
  if (options.task == "train") check_joins(job, options);
  if (trainers > 1 && options.task != "train") {
    fail(Code::kUsage, "only training is shared by trainers; ", options.task, " runs in one process");
  }
  check_device(job, options);
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
  const bool needs_servers = find_strategy(job.train.strategy).serve != nullptr;
  if (!has_servers(job)) {
    if (trainers == 1) return;
    if (!needs_servers) {
      check_nccl_device(job);
      return check_peers(peer_options(job, options, {}));
    }
    const char* other = find_strategy(job.train.strategy).without_servers;
    fail(Code::kUsage, trainers, " trainers need servers: give --servers or --discovery",
         other != nullptr ? cat("; without servers, name train.strategy ", other) : "");
  }
  if (!needs_servers) {
    fail(Code::kUsage, "train.strategy.type: ", find_strategy(job.train.strategy).name,
         " has no servers: leave out cluster.servers, cluster.discovery and --servers");
  }
  check_pull_ahead(job);
  check_pulls_ahead_alone(job, options);
  if (find_strategy(job.train.strategy).meets_beside_servers) check_meets_beside_servers(job, options);
  if (options.task != "train" && !options.init_model.empty()) {
    fail(Code::kUsage, "--init-model is for training: to ", options.task, " with servers, use their weights");
  }
}

std::string describe_device(const Job& job, const std::vector<ParameterSpec>& parameters) {
  const std::unique_ptr<RowDevice> device = open_row_device(job.device.type);
  const OptimizerPlan optimizers = optimizer_plan(job);
  return describe(plan_caches(*device, job.device, parameters, optimizers), parameters);
}

// Opens the network to the servers and to other trainers, then the device for rows with its caches, and makes
// the strategy from all of them.
RunningStrategy::RunningStrategy(const Job& job, const RunOptions& options, const DataSchema& schema,
                                 const std::vector<ParameterSpec>& parameters, ServerFinder& servers,
                                 Device& device, const ModelPlacement& model, Log& log) {
  std::optional<RemoteOptions> remote;
  std::optional<PeerOptions> peers;
  const bool with_servers = has_servers(job), trains = options.task == "train";
  const bool meets = with_servers ? trains && find_strategy(job.train.strategy).meets_beside_servers
                                  : job.cluster.trainers > 1;
  // Trainers that meet know each other by IP address, which a Unix socket does not have.
  if (with_servers || meets) network_ = make_network({.local = !meets});
  if (with_servers) {
    const Access needed = options.task == "train" ? Access::kTrain : Access::kRead;
    auto read = [security = options.security, needed] { return trainer_credentials(security, needed); };
    auto transport = std::make_unique<SecureTransport>(*network_, read());
    renewal_ = watch_credentials(options.renewal, *transport, read);
    transport_ = std::move(transport);
    remote = remote_options(job, options, schema, servers, log);
    remote->dense_here = meets;
    remote->sparse_here = trains && job.device.caches_rows();
    // Trainers that meet end together after a common step, and for that step one of them may have to wait for the servers.
    if (meets) remote->stop_patience = std::chrono::seconds(5);
  }
  if (meets) {
    peers = peer_options(job, options, schema);
    if (peers->nccl) peers->device = nccl_device_of(model.device);
    peers->model_on_device = model.device != nullptr && trains;
    for (const Address& peer : peers->peers) check_exposure(options.security, peer.host, "--peers");
    auto read = [security = options.security] { return peer_credentials(security); };
    auto transport = std::make_unique<SecureTransport>(*network_, read());
    peer_renewal_ = watch_credentials(options.renewal, *transport, read);
    peer_transport_ = std::move(transport);
  }
  const OptimizerPlan optimizers = optimizer_plan(job, options.cpu);
  std::shared_ptr<RowDevice> row_device;
  bool rows_beside_model = false;
  CachePlan caches;
  if (trains && job.device.caches_rows()) {
    rows_beside_model = model.device != nullptr && !with_servers;
    row_device =
        rows_beside_model ? row_device_of(model.device, job.device.type) : open_row_device(job.device.type);
    caches = plan_caches(*row_device, job.device, parameters, optimizers);
    log.info("Rows are trained on device ", job.device.type, ":\n", describe(caches, parameters));
  }
  const TrainerSetup setup = {.parameters = parameters,
                              .optimizers = optimizers,
                              .optimizer = job.optimizer,
                              .device = device,
                              .memory_limit = available_memory_bytes(),
                              .transport = transport_.get(),
                              .peer_transport = peer_transport_.get(),
                              .servers = remote ? &*remote : nullptr,
                              .peers = peers ? &*peers : nullptr,
                              .trains = trains,
                              .pull_ahead = job.train.pull_ahead,
                              .row_device = row_device,
                              .rows_beside_model = rows_beside_model,
                              .caches = &caches,
                              .window = static_cast<size_t>(job.device.window),
                              .model_device = model.device,
                              .on_devices = model.on_devices};
  strategy_ = find_strategy(job.train.strategy).make(job.train.strategy, setup);
  const Communicator* const met = strategy_->peers();
  if (met != nullptr && met->connections() > 1)
    log.info("Trainers have ", met->connections(), " connections to each other");
  if (setup.trains) warn_of_kernels(options.cpu, strategy_->first_cpu(), log);
}

// The trainers have met already, and meet a second time for the examples.  If one of them is gone
// meanwhile, lose_peer turns the error into StateLost when the run can go back to a checkpoint; otherwise
// the error itself is thrown.
std::shared_ptr<ExampleExchange> RunningStrategy::exchange_examples(const Job& job, const RunOptions& options,
                                                                    const DataSchema& schema) {
  Communicator* const met = strategy_->peers();
  const PeerOptions peers = peer_options(job, options, schema);
  if (met == nullptr || met->size() == 1 || peers.mpi) return nullptr;
  try {
    examples_ = std::make_shared<PeerExamples>(peers, options.security, options.renewal, *met);
  } catch (const Error& error) {
    if (error.code() == Code::kUnavailable) strategy_->lose_peer(error);
    throw;
  }
  return examples_;
}

void RunningStrategy::note_error(const Error& error) {
  if (examples_ && examples_->failed()) strategy_->lose_peer(error);
}

void RunningStrategy::keep_alive() {
  if (network_) network_->loop().poll();
}

// Tries again as long as servers move.  A process that had already taken part in a run, and left it, must
// come with another generation: it adds kAnother, so that no later increment by one gives a number that was
// used before.
std::unique_ptr<RunningStrategy> start_strategy(const Job& job, const RunOptions& options,
                                                const DataSchema& schema,
                                                const std::vector<ParameterSpec>& parameters,
                                                ServerFinder& servers, Device& device,
                                                const ModelPlacement& model, Log& log) {
  // A process that goes back to a checkpoint increments its generation by one.
  constexpr uint64_t kAnother = uint64_t{1} << 32;
  check_divided(job, options, parameters);
  RunOptions again = options;
  for (;;) {
    try {
      return std::make_unique<RunningStrategy>(job, again, schema, parameters, servers, device, model, log);
    } catch (const ServersMoved& moved) {
      log.info(moved.message());
      if (moved.left()) again.generation += kAnother;
    }
  }
}

}  // namespace ps
