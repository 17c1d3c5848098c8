// The processes of heterogeneous training on hosts of a simulated network: compute trainers, readers, and the plain trainers
// with which they are compared.  Used by the tests of readers; the cluster around them is each test's own.
#ifndef PS_TESTS_SIM_HETER_PARTS_H_
#define PS_TESTS_SIM_HETER_PARTS_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "heter/compute_link.h"
#include "heter/compute_service.h"
#include "heter/reader_ahead.h"
#include "net/sim/sim_network.h"
#include "simulate/synthetic_job.h"
#include "store/local_store.h"
#include "unit/feed/batches.h"

namespace ps {

// The job of readers and compute trainers.
struct HeterJob {
  SyntheticJob job;  // its optimizer, its consistency, and how many batches trainers have
  int computes = 1;
  int64_t ahead = 0;  // batches of a reader that are on their way
  std::string model = kFeedModel;
  bool goes_on = false;  // compute trainers end well without readers that others go on without,
  Duration reader_timeout = std::chrono::seconds(60);  // and that are gone for so long
};

// Compute trainers have the table that ids reach.
inline std::string with_compute(std::string model) {
  const std::string table = R"("name": "reached",)";
  return model.replace(model.find(table), table.size(), table + R"( "device": "compute",)");
}

// Rows that are pulled ahead have no policy.
inline std::string without_policy(std::string model) {
  const std::string policy = R"("rows": {"admission": {"count": 2}})";
  return model.replace(model.find(policy), policy.size(), "");
}

// One owner thread, that of the network.  Processes run on hosts that are named compute0, compute1 and so on.
class HeterParts {
 public:
  // `plain`: without compute trainers the trainers are plain ones.  `fingerprint` is that of the job on servers.
  HeterParts(HeterJob job, bool plain, Json fingerprint)
      : job_(std::move(job)), plain_(plain), fingerprint_(std::move(fingerprint)) {}

  const std::vector<ParameterSpec>& parameters() const { return network_.parameters(); }
  int64_t num_ahead() const { return num_ahead_; }  // batches, of all readers that have ended

  // The body of a compute trainer's process; `remote(rank)` are the options of a reader.
  void compute(SimHost& host, const std::function<RemoteOptions(int rank)>& remote,
               const std::function<bool()>& stop) {
    Device device(1, best_cpu_level());
    const ModelOptions model = ModelOptions::spec().parse(parse_json(job_.model, "model"), "model");
    const ComputeSetup setup = {.transport = host,
                                .device = device,
                                .model = model,
                                .seed = kSeed,
                                .job = fingerprint_,
                                .remote =
                                    [this, &remote](const ReaderHello& reader) {
                                      RemoteOptions options = remote(reader.rank);
                                      options.hello.generation = reader.generation;
                                      options.in_run = reader.run;
                                      options.link = ++num_links_;
                                      return options;
                                    },
                                .ahead = job_.ahead > 0,
                                .asynchronous = job_.job.consistency.async,
                                .optimizers = job_.job.plan(),
                                .memory_limit = kMemory};
    ComputeService service(
        setup,
        {.address = {host.name(), kPort}, .reader_timeout = job_.reader_timeout, .goes_on = job_.goes_on},
        log_);
    service.run(stop);
  }

  // The work of a trainer's process: from where the run says that the rank stands to the end of the last pass, and then
  // `after_last`, before the trainer ends the run.
  void take_part(SimHost& host, RemoteStore& store, const RemoteOptions& options,
                 const std::function<void()>& after_last) {
    const std::unique_ptr<ComputeLink> link = connect(host, store, options);
    train_all(store, link.get(), options.hello.rank);
    after_last();
    store.run().end_run();
    if (link) link->end_run();
  }

 private:
  static constexpr uint64_t kSeed = 7;  // of the job
  static constexpr uint16_t kPort = 7000;
  static constexpr uint64_t kMemory = uint64_t{1} << 30;  // bytes of copies

  std::unique_ptr<ComputeLink> connect(SimHost& host, RemoteStore& store, const RemoteOptions& options) {
    if (plain_) return nullptr;
    ComputeLinkOptions link;
    for (int c = 0; c < job_.computes; ++c) link.compute.push_back({cat("compute", c), kPort});
    link.sizes = figure_sizes(network_);
    link.asynchronous = job_.job.consistency.async;
    link.hello = {.rank = options.hello.rank,
                  .trainers = options.hello.trainers,
                  .generation = options.hello.generation,
                  .run = store.run().id(),
                  .cpu = "",
                  .job = fingerprint_,
                  .schema = options.hello.schema,
                  .ends = false};
    return std::make_unique<ComputeLink>(host, store, network_.parameters(), std::move(link));
  }

  void train_all(RemoteStore& store, ComputeLink* link, int rank) {
    const RunPosition start = store.run().position();
    if (!start.resumed) store.group().barrier();
    const std::vector<int>& passes = job_.job.steps[static_cast<size_t>(rank)];
    Network<float> network = feed_network(job_.model.c_str());
    Device device(1, best_cpu_level());
    const LocalStore layouts(network_.parameters(), job_.job.plan(), kMemory, device);
    std::optional<ReaderAhead> ahead;
    if (job_.ahead > 0) {
      ahead.emplace(store, *link, network_.parameters(), layouts,
                    ReaderAheadOptions{static_cast<size_t>(job_.ahead), figure_sizes(network_),
                                       job_.job.consistency.async});
    }
    for (int64_t pass = start.pass; pass < std::ssize(passes); ++pass) {
      const bool first = pass == start.pass;
      if (!first || !start.pass_ended) {
        const int64_t done = first ? start.pass_batches : 0, count = passes[static_cast<size_t>(pass)];
        for (int64_t i = done; !ahead && i < count; ++i) train_batch(store, link, network, rank, pass, i);
        if (ahead) train_ahead(*ahead, network, rank, pass, done, count);
        ahead ? ahead->end_pass(pass) : store.end_pass(pass);
      }
      store.group().gather("figures");
    }
    if (ahead) num_ahead_ += ahead->counters().at("ahead").get<int64_t>();
  }

  static PreparedBatch prepare(Network<float>& network, int rank, int64_t pass, int64_t i) {
    PreparedBatch prepared;
    prepared.batch = feed_batch(static_cast<uint64_t>((pass * 100 + i) * 10 + rank), 5);
    prepared.step = pass * 100 + i;
    prepare_batch(network, KeyOrder::kAscending, prepared);
    return prepared;
  }

  void train_ahead(ReaderAhead& ahead, Network<float>& network, int rank, int64_t pass, int64_t begin,
                   int64_t end) {
    std::deque<PreparedBatch> told;
    std::vector<ParameterView<float>> views;
    for (int64_t i = begin; i < end; ++i) {
      while (std::ssize(told) <= job_.ahead && i + std::ssize(told) < end) {
        told.push_back(prepare(network, rank, pass, i + std::ssize(told)));
        ahead.expect_batch(told.back());
      }
      PreparedBatch& prepared = told.front();
      ahead.pull(prepared.plans, PullMode::kTrain, views);
      ahead.run(prepared, views);
      ahead.push(prepared.plans, views, {prepared.batch.size(), pass});
      told.pop_front();
    }
  }

  void train_batch(RemoteStore& store, ComputeLink* link, Network<float>& network, int rank, int64_t pass,
                   int64_t i) {
    PreparedBatch prepared = prepare(network, rank, pass, i);
    std::vector<ParameterView<float>> views;
    store.pull(prepared.plans, PullMode::kTrain, views);
    if (link != nullptr) {
      link->run(prepared, views);
    } else {
      Device device(1, best_cpu_level());
      network.forward(prepared, views, device);
      network.backward();
    }
    store.push(prepared.plans, views, {prepared.batch.size(), pass});
  }

  const HeterJob job_;
  const bool plain_;
  const Json fingerprint_;
  const Network<float> network_ = feed_network(job_.model.c_str());
  Log log_{"sim_heter", LogLevel::kError};
  int64_t num_ahead_ = 0;
  uint64_t num_links_ = 0;  // of compute trainers
};

}  // namespace ps

#endif  // PS_TESTS_SIM_HETER_PARTS_H_
