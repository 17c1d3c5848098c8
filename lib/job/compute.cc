#include "job/compute.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/wait_stopped.h"
#include "config/json.h"
#include "device/model_devices.h"
#include "heter/compute_service.h"
#include "job/fingerprint.h"
#include "job/global_batch.h"
#include "math/device.h"
#include "membership/server_finder.h"
#include "net/secure_transport.h"
#include "train/emulated_computation.h"

namespace ps {

namespace {

// Writes the port to the file and then a line of JSON to standard output, by which scripts learn that
// readers may come.
void announce(const Job& job, const ComputeEndpoint& endpoint, int port) {
  if (!endpoint.port_file.empty()) write_named_file(endpoint.port_file, cat(port, "\n"));
  const Json line = {{"event", "ready"}, {"job", job.job.name}, {"port", port}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

// Returns the options of a compute trainer's connections to the servers, as the rank of a reader.  `link` is a
// different number each time.
RemoteOptions remote_of_reader(const Job& job, const RunOptions& options, const ReaderHello& reader,
                               uint64_t link, ServerFinder& servers, Log& log) {
  RemoteOptions remote = remote_options(job, options, schema_from_json(reader.schema), servers, log);
  remote.hello.rank = reader.rank;
  remote.hello.trainers = reader.trainers;
  remote.hello.generation = reader.generation;
  remote.hello.passes = 0;
  remote.hello.resume = false;
  remote.in_run = reader.run;
  remote.link = hash_key(options.generation) + link;
  return remote;
}

// Returns the factory of emulated computations, or null without train.emulated_compute.
std::function<std::unique_ptr<Computation>(const Network<float>&)> emulated_computation(const Job& job) {
  const std::optional<double> seconds = job.train.emulated_seconds();
  if (!seconds) return nullptr;
  return [seconds = *seconds](const Network<float>& network) {
    return std::make_unique<EmulatedComputation>(seconds, network.parameters(), figure_sizes(network));
  };
}

// Opens the device that computes batches; null: the processor computes them.
std::unique_ptr<Device> open_compute_device(const Job& job, Device& host) {
  if (!job.device.runs_model()) return nullptr;
  return device_of(host, open_model_device(job.device.type));
}

// "on device emulated with 2 threads and avx2 kernels"
std::string describe_compute(const Job& job, const RunOptions& options) {
  const std::string device = job.device.runs_model() ? cat("on device ", job.device.type, " ") : "";
  return cat(device, "with ", options.threads, " threads and ", cpu_level_name(options.cpu), " kernels");
}

// Returns how a reader reaches its compute trainers, and what it says to them.
ComputeLinkOptions compute_link_options(const Job& job, const RunOptions& options, const DataSchema& schema,
                                        uint64_t run) {
  ComputeLinkOptions link;
  link.compute = compute_addresses(job);
  link.hello.rank = options.rank;
  link.hello.trainers = job.cluster.trainers;
  link.hello.generation = options.generation;
  link.hello.run = run;
  link.hello.cpu = cpu_level_name(options.cpu);
  link.hello.job = job_fingerprint(job);
  link.hello.schema = to_json(schema);
  link.timeout = seconds_duration(job.cluster.server_timeout);
  link.request_timeout = seconds_duration(job.cluster.request_timeout);
  return link;
}

// Connects a reader to the compute trainers.  All arguments but the schema outlive the link.
std::unique_ptr<ComputeLink> make_compute_link(const Job& job, const RunOptions& options,
                                               const DataSchema& schema, RunningStrategy& running,
                                               const Network<float>& network, Log& log) {
  ComputeLinkOptions link = compute_link_options(job, options, schema, running->run().id());
  link.sizes = figure_sizes(network);
  link.asynchronous = server_plan(job, options.cpu).consistency.async;
  link.on_message = [&log](const std::string& text) { log.info(text); };
  return std::make_unique<ComputeLink>(running.transport(), *running->on_servers(), network.parameters(),
                                       std::move(link));
}

// Throws kUsage if the role cannot use the job's device: a compute trainer has no rows, and a reader no model,
// that a device could train.
void check_device_of_role(const Job& job, const RunOptions& options) {
  if (job.device.type == "cpu") return;
  const std::string device = cat("device.type: ", quote(job.device.type), ", but --role ", options.role);
  if (options.role == "reader") {
    fail(Code::kUsage, device, " computes nothing: leave out --device, or give it to compute trainers");
  }
  if (job.device.caches_rows()) {
    fail(Code::kUsage, device, " has no rows of its own to train there, as device.trains ",
         quote(job.device.trains), " says: give --set device.trains=model");
  }
  if (job.train.emulated_compute) {
    fail(Code::kUsage, device, " computes nothing with train.emulated_compute: leave out one of the two");
  }
}

// Throws kUsage if synchronous readers cannot pull ahead together.  One compute trainer must have the copies of
// the rows that several readers change, and all readers must take part in making them.
void check_readers_together(const Job& job, const RunOptions& options) {
  const bool synchronous = !server_plan(job, options.cpu).consistency.async;
  if (job.train.pull_ahead == 0 || job.cluster.trainers == 1 || !synchronous) return;
  const std::string together = cat("train.pull_ahead: ", job.train.pull_ahead, ", but ", job.cluster.trainers,
                                   " synchronous readers are ahead together: ");
  if (const size_t count = compute_addresses(job).size(); count > 1) {
    fail(Code::kUsage, together, "one compute trainer has the copies of what they use, and there are ", count,
         "; name one, or leave out train.pull_ahead");
  }
  if (job.cluster.on_trainer_loss == "continue") {
    fail(Code::kUsage, together, "none goes on without another; leave out cluster.on_trainer_loss continue");
  }
}

}  // namespace

std::vector<Address> compute_addresses(const Job& job) {
  return parse_addresses(job.cluster.compute, "cluster.compute");
}

// Checks the task and the servers first, then the device and the steps, and last the strategy: a compute
// trainer gets rows from readers, so these must be exchanged with each batch, and as they are.
void check_role(const Job& job, const RunOptions& options) {
  if (options.role == "trainer") return;
  const std::string flag = cat("--role ", options.role);
  if (options.task != "train") fail(Code::kUsage, flag, " is for training");
  if (!has_servers(job)) fail(Code::kUsage, flag, " needs servers: give --servers or --discovery");
  check_device_of_role(job, options);
  if (job.train.accumulate > 1) {
    fail(Code::kUsage, "train.accumulate: ", job.train.accumulate, ", but compute trainers, with ", flag,
         ", compute whole batches: leave it out");
  }
  if (options.role == "reader" && compute_addresses(job).empty()) {
    fail(Code::kUsage, flag, ": there is no compute trainer: give --compute HOST:PORT");
  }
  const Json strategy = complete_strategy(job.train.strategy);
  check_exchanges_each_batch(strategy, cat(flag, ": "), "there are readers and compute trainers",
                             "leave out one of the two");
  check_pull_ahead(job);
  check_readers_together(job, options);
  const Json& codec = strategy["codec"];
  if (codec["push"] == "f32" && codec["pull"] == "f32") return;
  fail(Code::kUsage,
       "train.strategy.codec: readers and compute trainers exchange rows with servers as f32 alone");
}

std::string describe_cut(const std::vector<ParameterSpec>& parameters) {
  std::vector<std::string> readers, computes;
  for (const ParameterSpec& spec : parameters) {
    (with_readers(spec) ? readers : computes).push_back(spec.name);
  }
  return cat("with readers: ", join(readers, ", "), "\nwith compute trainers: ", join(computes, ", "));
}

void end_run_of_reader(const Job& job, const RunOptions& options, const DataSchema& schema,
                       RunningStrategy& running) {
  tell_end_of_run(running.transport(), compute_link_options(job, options, schema, running->run().id()));
}

// Connects to the compute trainers.  With pull_ahead, `ahead_` stands between trainer and link, and keeps
// several batches on their way; it needs the layouts of all tables, but no rows.
ReaderPart::ReaderPart(const Job& job, const RunOptions& options, const DataSchema& schema,
                       RunningStrategy& running, const Network<float>& network, Device& device, Log& log)
    : running_(running), link_(make_compute_link(job, options, schema, running, network, log)) {
  if (job.train.pull_ahead == 0) return;
  const OptimizerPlan optimizers = optimizer_plan(job, options.cpu);
  const bool asynchronous = server_plan(job, options.cpu).consistency.async;
  layouts_.emplace(network.parameters(), optimizers, available_memory_bytes(), device);
  ahead_.emplace(*running->on_servers(), *link_, network.parameters(), *layouts_,
                 ReaderAheadOptions{.batches = static_cast<size_t>(job.train.pull_ahead),
                                    .sizes = figure_sizes(network),
                                    .asynchronous = asynchronous});
}

Computation& ReaderPart::computation() {
  if (ahead_) return *ahead_;
  return *link_;
}

ParameterStore& ReaderPart::store() {
  if (ahead_) return *ahead_;
  return running_->store();
}

void ReaderPart::describe(Json& result) const {
  if (ahead_) result["in_flight"] = ahead_->counters();
}

// Checks the job, opens transport and device, divides the memory between arriving and held messages, and runs
// the service until all readers have ended the run.
bool run_compute(const Job& job, const RunOptions& options, const ComputeEndpoint& endpoint, Log& log) {
  constexpr uint64_t kMostArriving = uint64_t{1} << 30;  // the most bytes of messages that are being received
  check_role(job, options);
  check_exposure(options.security, endpoint.host);
  if (options.dry_run) {
    log.info("would compute for readers ", describe_compute(job, options));
    return true;
  }
  ServerFinder servers({.servers = server_addresses(job),
                        .discovery = job.cluster.discovery,
                        .tls = options.security.etcd,
                        .num_servers = job.cluster.num_servers,
                        .timeout = job.cluster.server_timeout,
                        .stop = options.stop},
                       log);
  auto read = [&options] { return peer_credentials(options.security); };
  const std::unique_ptr<SecureTransport> transport = make_secure_network(read());
  const std::shared_ptr<void> renewal = watch_credentials(options.renewal, *transport, read);
  Device device(options.threads, options.cpu);
  const std::unique_ptr<Device> model_device = open_compute_device(job, device);
  const uint64_t memory = endpoint.max_memory_bytes.value_or(available_memory_bytes() / 2);
  const uint64_t arriving = std::min(kMostArriving, memory / 4);
  uint64_t num_links = 0;
  const ComputeSetup setup = {
      .transport = *transport,
      .device = device,
      .model_device = model_device.get(),
      .model = job.model,
      .seed = job.job.seed,
      .job = job_fingerprint(job),
      .remote =
          [&](const ReaderHello& reader) {
            return remote_of_reader(job, options, reader, ++num_links, servers, log);
          },
      .remote_of_newcomer = [&] { return remote_options(job, options, DataSchema(), servers, log); },
      .ahead = job.train.pull_ahead > 0,
      .asynchronous = server_plan(job, options.cpu).consistency.async,
      .optimizers = optimizer_plan(job, options.cpu),
      .memory_limit = available_memory_bytes(),
      .held_bytes = memory - arriving,
      .computation = emulated_computation(job)};
  if (setup.computation) {
    log.warning("train.emulated_compute: batches are waits, and the weights of this run mean nothing");
  }
  ComputeService service(setup,
                         {.address = {endpoint.host, endpoint.port},
                          .arriving_bytes = arriving,
                          .request_timeout = seconds_duration(job.cluster.request_timeout),
                          .reader_timeout = seconds_duration(job.cluster.trainer_timeout),
                          .goes_on = job.cluster.on_trainer_loss == "continue"},
                         log);
  announce(job, endpoint, service.address().port);
  log.info("Computing for readers at ", to_text(service.address()), " ", describe_compute(job, options));
  try {
    service.run(options.stop);
  } catch (const WaitStopped& stopped) {
    log.info(stopped.message());
    return false;
  }
  log.info(options.stop() ? "Ended early: " : "The run has ended: ", "batches=", service.num_batches());
  return !options.stop();
}

}  // namespace ps
