#include "job/serve.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "base/current_error.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/start_thread.h"
#include "base/temporary_folder.h"
#include "config/json.h"
#include "job/checkpoint_states.h"
#include "job/fingerprint.h"
#include "job/refusal_log.h"
#include "job/status_thread.h"
#include "membership/server_lease.h"
#include "net/auth/http_token.h"
#include "net/network.h"
#include "ps/server/shard_server.h"
#include "strategy/strategy.h"

namespace ps {

namespace {

constexpr Duration kLongestDrain = std::chrono::seconds(5);

// The credentials and limits by which a server accepts connections.
struct Guard {
  Credentials credentials;
  HandshakeOptions handshakes;
};

// Reads tokens and certificates.  Throws kUsage if the status pages would be shown to nobody: with tokens,
// but none for them.
Credentials read_credentials(const ServeOptions& options) {
  Credentials credentials = server_credentials(options.security);
  const bool shows_pages = std::ranges::count(credentials.tokens, kStatusAccess, &Token::access) > 0;
  if (options.status_port && !credentials.tokens.empty() && !shows_pages) {
    fail(Code::kUsage, "--status-port: token file ", quote(options.security.token_file),
         " has no token for 'status', by which the pages know who may see them: ps-security(7)");
  }
  return credentials;
}

// Refuses an exposed address without protection, then reads the credentials.  All shards share the guard,
// and so one log of refusals with one limit.
Guard make_guard(const ServeOptions& options, Log& log) {
  check_exposure(options.security, options.host);
  Guard guard{read_credentials(options), {}};
  auto refusals = std::make_shared<RefusalLog>(log);
  guard.handshakes.on_refused = [refusals](const std::string& peer, const Error& reason) {
    refusals->add(peer, reason);
  };
  return guard;
}

// One shard with its network.  The owner's thread makes and ends it; in between it runs on a thread of its own.
class ShardThread {
 public:
  ShardThread(const Address& address, const NetworkOptions& options, const Guard& guard, const ServedJob& job,
              const ShardLimits& limits)
      : transport_(make_secure_network(guard.credentials, guard.handshakes, options)),
        server_(*transport_, address, job, limits) {
    server_.on_failed([this](const Error& error) {
      failure_ = error;
      failed_ = true;
    });
  }
  ShardThread(const ShardThread&) = delete;
  ShardThread& operator=(const ShardThread&) = delete;

  ~ShardThread() {
    if (!thread_.joinable()) return;
    transport_->loop().stop();
    thread_.join();
  }

  uint16_t port() const { return server_.address().port; }
  const StatusBoard& board() const { return board_; }

  // Must be called before start.
  void publish() { server_.publish_to(board_); }

  void start(const ServerPorts& ports) {
    server_.set_ports(ports);
    thread_ = start_thread([this] { run(); });
  }

  // Ends the connections, then the thread; connections that take longer than kLongestDrain are cut.
  void begin_end() {
    transport_->loop().post([this] {
      server_.drain();
      Loop& loop = transport_->loop();
      drain_timer_ = std::make_unique<Timer>(loop, [this] { check_drained(); });
      drain_deadline_ = add_time(loop.now(), kLongestDrain);
      check_drained();
    });
  }

  void set_credentials(const Credentials& credentials) {
    transport_->loop().post([this, credentials] { transport_->set_credentials(credentials); });
  }

  void ask_checkpoint() {
    transport_->loop().post([this] { server_.ask_checkpoint(); });
  }

  void join() { thread_.join(); }

  // Returns true if the server cannot go on.
  bool failed() const { return failed_; }

  // Once the thread is joined, throws the reason why the server could not go on.
  void check() const {
    if (failed_) throw *failure_;
  }

  // The same: throws the error of the last checkpoint, if that has failed, so that no server ends as if all were
  // saved.
  void check_checkpoint() const {
    if (const auto failure = server_.checkpoint_failure())
      throw failure->within("the last checkpoint has failed");
  }

 private:
  // Runs the loop.  An error that no connection handles ends the server with that error.
  void run() {
    try {
      transport_->loop().run();
    } catch (...) {
      failure_ = current_error();
      failed_ = true;
    }
  }

  void check_drained() {
    Loop& loop = transport_->loop();
    const bool done = server_.num_connections() == 0 && !server_.writes_checkpoint();
    if (done || loop.now() >= drain_deadline_) return loop.stop();
    drain_timer_->start_after(std::chrono::milliseconds(10));
  }

  const std::unique_ptr<SecureTransport> transport_;
  StatusBoard board_;
  ShardServer server_;
  std::unique_ptr<Timer> drain_timer_;
  Time drain_deadline_{};
  std::optional<Error> failure_;  // set before failed_
  std::atomic<bool> failed_ = false;
  std::thread thread_;
};

// Returns the memory of all shards together.  Throws kUsage if so many shards could not work with it.
uint64_t memory_limit(const ServeOptions& options) {
  const int shards = options.ports_num + options.ports_num_for_sparse;
  if (!options.max_memory_bytes) return available_memory_bytes();
  const uint64_t least = least_memory_bytes(shards);
  if (*options.max_memory_bytes >= least) return *options.max_memory_bytes;
  fail(Code::kUsage, "--max-memory ", *options.max_memory_bytes, " is too little for ", shards,
       " ports, expected at least ", human_bytes(least), " (", least, ")");
}

// Returns the settings for each shard with sparse parameters.  A folder that cannot be written to is refused
// now, and not when the first trainer comes.  So is a memory limit that rows could never fill, since they would
// be refused before.
SpillSettings spill_settings(const ServeOptions& options, uint64_t table_bytes) {
  constexpr uint64_t kMostByDefault = uint64_t{1} << 30;
  if (options.spill_dir.empty()) return {};
  const uint64_t bytes = options.spill_memory.value_or(std::min(table_bytes / 2, kMostByDefault));
  if (bytes > table_bytes) {
    fail(Code::kUsage, "--spill-memory is ", human_bytes(bytes), ", but tables have ",
         human_bytes(table_bytes), " of --max-memory");
  }
  RowSpill(options.spill_dir, 0);
  const int shards = options.ports_num_for_sparse > 0 ? options.ports_num_for_sparse : options.ports_num;
  return {options.spill_dir, bytes / static_cast<uint64_t>(shards)};
}

// Returns the settings of checkpoints.  If the job names no directory, they are written to `scratch`, for
// models alone.
CheckpointSettings checkpoint_settings(const Job& job, const ServeOptions& options,
                                       const std::string& scratch, Log& log) {
  const CheckpointOptions& asked = job.checkpoint;
  if (asked.directory.empty() && options.resume) {
    fail(Code::kUsage, "--resume: there is no checkpoint.directory: give --checkpoint-dir");
  }
  if (asked.directory.empty() && options.durable) {
    fail(Code::kUsage, "--durability log: there is no checkpoint.directory: give --checkpoint-dir");
  }
  CheckpointSettings settings;
  settings.durable = options.durable;
  settings.directory = asked.directory;
  if (asked.directory.empty()) {
    settings.scratch = scratch;
    settings.files = &unsynced_files();
  }
  settings.resume = options.resume;
  settings.steps = asked.steps;
  settings.period = seconds_duration(asked.period_seconds());
  settings.keep = asked.keep;
  settings.full_every = asked.full_every;
  settings.zstd_level = asked.compression == "none" ? 0 : 1;
  if (asked.bytes_per_second() > 0) settings.rate = std::make_shared<WriteRate>(asked.bytes_per_second());
  const int shards = options.ports_num + options.ports_num_for_sparse;
  settings.memory_bytes = std::max(asked.memory_bytes() / static_cast<uint64_t>(shards), uint64_t{1} << 18);
  settings.job = job_identity(job);
  settings.states = {{kJobState, effective_job(job).dump()}};
  settings.log = &log;
  if (!asked.directory.empty()) make_directories(asked.directory);
  return settings;
}

// Returns the host that is given to trainers: a number rather than localhost, since certificates are for
// numbers.
std::string advertised_host(const ServeOptions& options) {
  if (!options.advertise.empty()) return options.advertise;
  return options.host == "localhost" ? "127.0.0.1" : options.host;
}

ServerLeaseOptions lease_options(const Job& job, const ServeOptions& options, uint16_t port) {
  return {.discovery = job.cluster.discovery,
          .tls = options.security.etcd,
          .num_servers = job.cluster.num_servers,
          .directory = job.checkpoint.directory,
          .host = advertised_host(options),
          .port = port,
          .lease_seconds = job.cluster.request_timeout,
          .etcd_timeout_seconds = job.cluster.server_timeout,
          .stop = options.stop};
}

// Opens all ports, and divides the memory among their shards.  Shards do not run yet, so a port that is
// taken ends the server before a trainer has seen it.  Adds the ports to `ports`: the first ones have dense
// parameters, the last ones sparse ones; without ports for sparse ones each shard has both.
std::vector<std::unique_ptr<ShardThread>> listen(const ServeOptions& options, const ServedJob& job,
                                                 const Guard& guard, uint64_t max_memory, ServerPorts& ports,
                                                 Log& log) {
  std::vector<std::unique_ptr<ShardThread>> shards;
  const int count = options.ports_num + options.ports_num_for_sparse;
  if (options.port + count > 65536) fail(Code::kUsage, "there are no ", count, " ports from ", options.port);
  ShardLimits limits = share_memory(max_memory, count);
  limits.spill = spill_settings(options, limits.tables->max_bytes());
  const NetworkOptions network = {.local = options.local_sockets,
                                  .on_trouble = [&log](const std::string& text) { log.warning(text); }};
  for (int i = 0; i < count; ++i) {
    uint16_t port = options.port == 0 ? uint16_t{0} : static_cast<uint16_t>(options.port + i);
    shards.push_back(std::make_unique<ShardThread>(Address{options.host, port}, network, guard, job, limits));
    ports.ports.push_back(shards.back()->port());
  }
  ports.dense = options.ports_num;
  ports.sparse = options.ports_num_for_sparse > 0 ? options.ports_num_for_sparse : options.ports_num;
  return shards;
}

// Returns why a server does not do what an operator asks for; empty: it does.
std::string why_not(OperatorRequest asked, bool has_checkpoints, const StatusService& service) {
  if (asked == OperatorRequest::kEnd) return "";
  if (asked == OperatorRequest::kShrink)
    return "servers shrink tables after a step for which a trainer asks: ask the page of a trainer";
  if (!has_checkpoints) return "checkpoint.directory is empty: there are no checkpoints";
  if (service.begins_checkpoints()) return "";
  return "the job's first server begins checkpoints, once a trainer has come: ask there, or at the page of a "
         "trainer";
}

// Starts the status pages, if they are wanted.
std::unique_ptr<StatusThread> show_status(const Job& job, const ServeOptions& options, const Guard& guard,
                                          uint64_t max_memory,
                                          std::vector<std::unique_ptr<ShardThread>>& shards) {
  if (!options.status_port) return nullptr;
  std::vector<const StatusBoard*> boards;
  for (auto& shard : shards) {
    shard->publish();
    boards.push_back(&shard->board());
  }
  const StatusFacts facts = {.job = job.job.name,
                             .exposure = describe_exposure(options.security, options.host),
                             .memory_limit = max_memory};
  return std::make_unique<StatusThread>(
      Address{options.host, *options.status_port}, guard.credentials, guard.handshakes, *options.operators,
      [&](Loop& loop) -> StatusPages {
        auto service = std::make_shared<StatusService>(loop, facts, boards);
        return {[service](const HttpRequest& request) { return service->answer(request); },
                [service] { service->count_refusal(); },
                [service, has_checkpoints = !job.checkpoint.directory.empty()](OperatorRequest asked) {
                  return why_not(asked, has_checkpoints, *service);
                },
                [service] { service->end(); }};
      });
}

// Tells supervisors and scripts that trainers may come: the ports in --port-file, one a line, then a line
// of JSON on standard output.  The file comes first, so that a script that has read the line finds it.
void announce(const Job& job, const ServeOptions& options, const ServerPorts& ports,
              std::optional<int> server, const StatusThread* status) {
  if (!options.port_file.empty()) {
    std::string lines;
    for (int port : ports.ports) lines += cat(port, "\n");
    write_named_file(options.port_file, lines);
  }
  Json line = {{"event", "ready"},
               {"job", job.job.name},
               {"ports", ports.ports},
               {"dense", ports.dense},
               {"sparse", ports.sparse}};
  if (server) line["server"] = *server;
  if (status != nullptr) line["status_port"] = status->port();
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

void tell_exposure(const ServeOptions& options, Log& log) {
  const std::string exposure = describe_exposure(options.security, options.host);
  if (exposure.empty()) return;
  exposure.starts_with("insecure") ? log.warning(exposure) : log.info("At ", options.host, ": ", exposure);
}

// Tokens and certificates are read again when asked, as long as the returned object lives.
std::shared_ptr<void> renew_when_asked(const ServeOptions& options,
                                       const std::vector<std::unique_ptr<ShardThread>>& shards,
                                       StatusThread* status) {
  if (options.renewal == nullptr) return nullptr;
  return options.renewal->watch([&options] { return read_credentials(options); },
                                [&shards, status](const Credentials& credentials) {
                                  for (const auto& shard : shards) shard->set_credentials(credentials);
                                  if (status != nullptr) status->set_credentials(credentials);
                                });
}

}  // namespace

// Checks the job, then listens on all ports, then gets the server's place from the lease.  Only then the shards
// run and the ports are announced.  It watches for signals, a lost lease and failed shards, until one of them
// ends the server.
void serve_job(const Job& job, const ServeOptions& options, Log& log) {
  constexpr Duration kAskStop = std::chrono::milliseconds(100);
  ServedJob served = served_job(job, options.cpu);
  const uint64_t max_memory = memory_limit(options);
  const Guard guard = make_guard(options, log);
  if (options.dry_run) return;
  tell_exposure(options, log);
  std::optional<TemporaryFolder> scratch;
  if (job.checkpoint.directory.empty()) {
    remove_left_folders(options.scratch_dir);
    scratch.emplace(options.scratch_dir);
  }
  served.checkpoints = checkpoint_settings(job, options, scratch ? scratch->path() : "", log);
  ServerPorts ports;
  std::optional<ServerLease> lease;  // destroyed after the shards
  std::vector<std::unique_ptr<ShardThread>> shards = listen(options, served, guard, max_memory, ports, log);
  lease.emplace(lease_options(job, options, static_cast<uint16_t>(ports.ports.front())), log);
  if (options.stop()) return;
  served.fence = lease->fence();
  if (lease->files() != nullptr) served.checkpoints.files = lease->files();
  std::unique_ptr<StatusThread> status = show_status(job, options, guard, max_memory, shards);
  const std::shared_ptr<void> renewal = renew_when_asked(options, shards, status.get());
  for (auto& shard : shards) shard->start(ports);
  announce(job, options, ports, lease->number(), status.get());
  const std::unique_ptr<Transport> waiting = make_network();
  Loop& loop = waiting->loop();
  auto ending = [&] {
    return options.stop() || std::ranges::any_of(shards, [](const auto& shard) { return shard->failed(); });
  };
  // Signals only set flags, so the loop looks at them ten times a second; beat keeps the lease alive.
  while (!ending() && !lease->fenced()) {
    loop.run_until(ending, add_time(loop.now(), kAskStop));
    lease->beat();
    if (options.checkpoint_asked()) shards.front()->ask_checkpoint();
  }
  log.info("Ending");
  if (status) status->end();
  // All shards drain at the same time, and only then each is waited for.
  for (auto& shard : shards) shard->begin_end();
  for (auto& shard : shards) shard->join();
  if (auto why = lease->fenced()) throw *why;
  for (auto& shard : shards) shard->check();
  // The first shard waits for the files of the others, and fails with them: they know the cause.
  for (auto shard = shards.rbegin(); shard != shards.rend(); ++shard) (*shard)->check_checkpoint();
}

}  // namespace ps
