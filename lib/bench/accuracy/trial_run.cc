#include "bench/accuracy/trial_run.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "bench/process/child.h"
#include "job/job.h"
#include "strategy/strategy.h"

namespace ps {

namespace {

// A network of 80,000 weights on clicks of 5,000 ids.  The law that decides clicks has interactions, which
// take some thousand steps to learn.
constexpr const char* kGeneratedJob = R"({
  "job": {"name": "accuracy", "seed": 1},
  "data": {"format": "paddle_sparse_binary", "dim": 5000, "batch_size": 100},
  "model": {
    "layers": [{"name": "hidden", "type": "fc", "input": "features", "size": 16, "activation": "tanh"},
               {"name": "output", "type": "fc", "input": "hidden", "size": 2, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]},
  "optimizer": {"type": "momentum", "momentum": 0.9, "learning_rate": 0.1},
  "train": {"passes": 8}})";

// Returns an address of the loopback network, drawn at random so that most likely nothing else uses it;
// ps-train listens there at its own port.
std::string unused_address(uint32_t runner, uint32_t run) {
  Random random(static_cast<uint64_t>(getpid()), uint64_t{runner} << 32 | run);
  return cat("127.", 1 + random.below(254), ".", random.below(256), ".", 1 + random.below(254));
}

}  // namespace

TrialRunner::TrialRunner(AccuracyJob job, const std::string& programs, const TemporaryFolder& folder,
                         uint32_t number)
    : job_(std::move(job)),
      program_(program_path(programs, "ps-train")),
      server_program_(program_path(programs, "ps-serve")),
      folder_(folder),
      number_(number) {}

void TrialRunner::check(const Json& strategy) const {
  load_job(job_.job,
           std::vector<Override>{
               {.key = "train.strategy", .values = {strategy.dump()}, .is_set = true, .typed = "strategy"}});
}

// The seconds are those of all processes, from the start of the server to the end of the last trainer.
// Rank 0 wrote its report to the file result-0; batches are counted over all trainers, so they are divided
// by the ranks.
TrialResult TrialRunner::run(const Json& strategy, int64_t seed) {
  const double begin = monotonic_seconds();
  run_trainers(strategy, seed);
  TrialResult result;
  result.seconds = monotonic_seconds() - begin;
  const std::string path = folder_.path("result-0");
  const Json json = parse_json(read_file(path), path);
  for (const Json& pass : json.at("passes")) result.steps += pass.at("batches").get<int64_t>();
  result.steps /= job_.ranks;
  result.bytes_sent = json.at("bytes_sent").get<uint64_t>();
  result.value = find_measure(json.at("test"), result);
  return result;
}

// Starts the server if the strategy has one, and reads where it listens from the first line that it prints.
TrialRunner::Addresses TrialRunner::start_server(const Json& strategy, int64_t seed,
                                                 std::optional<RunningChild>& server) {
  const StrategyEntry& entry = find_strategy(strategy);
  Addresses addresses;
  if (entry.serve == nullptr || entry.meets_beside_servers)
    addresses.peers = unused_address(number_, num_runs_++);
  if (entry.serve == nullptr) return addresses;
  server.emplace(
      Command{.words = {server_program_, job_.job, "--host", "127.0.0.1", "--port", "0", "--checkpoint-dir",
                        "", "--seed", std::to_string(seed), "--set", cat("train.strategy=", strategy.dump())},
              .errors = folder_.path("server-messages")});
  const Json ready = parse_json(server->line(), "ps-serve");
  addresses.servers = cat("127.0.0.1:", ready.at("ports").at(0).get<int>());
  return addresses;
}

// Runs all trainers to their end.  When one trainer fails the others lose their connection to it and end too;
// the error thrown is that of the first to fail.
void TrialRunner::run_trainers(const Json& strategy, int64_t seed) {
  std::optional<RunningChild> server;
  const Addresses addresses = start_server(strategy, seed, server);
  // The models of the run before are removed, since ps-train refuses to mix runs.
  std::filesystem::remove_all(folder_.path("models"));
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> trainers;
  for (int rank = 0; rank < job_.ranks; ++rank) {
    Command command{.words = words(strategy, seed, rank, addresses),
                    .output = folder_.path(cat("result-", rank)),
                    .errors = folder_.path(cat("messages-", rank))};
    trainers.emplace_back([command = std::move(command), &mutex, &first] {
      try {
        run_child(command);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  if (first) std::rethrow_exception(first);
  if (server) server->end();
}

// Returns the command line of one trainer.  A trainer has one thread, since all share this machine;
// checkpoints are off, and rank 0 alone tests.
std::vector<std::string> TrialRunner::words(const Json& strategy, int64_t seed, int rank,
                                            const Addresses& addresses) const {
  std::vector<std::string> words = {program_,
                                    job_.job,
                                    "--data",
                                    job_.data,
                                    "--trainers",
                                    std::to_string(job_.ranks),
                                    "--rank",
                                    std::to_string(rank),
                                    "--save-dir",
                                    folder_.path("models"),
                                    "--checkpoint-dir",
                                    "",
                                    "--seed",
                                    std::to_string(seed),
                                    "--set",
                                    cat("train.strategy=", strategy.dump()),
                                    "--threads",
                                    "1",
                                    "--progress",
                                    "never",
                                    "--json"};
  if (!addresses.peers.empty()) words.insert(words.end(), {"--peers", addresses.peers});
  if (!addresses.servers.empty()) words.insert(words.end(), {"--servers", addresses.servers});
  if (job_.passes) words.insert(words.end(), {"--passes", std::to_string(*job_.passes)});
  if (rank == 0) words.insert(words.end(), {"--test-data", job_.test_data});
  return words;
}

// Sets the name of the measure in `result`, and returns its value over the test data.  Throws kUsage when
// there is no such measure, or no value, as AUC has none for labels of one kind.
double TrialRunner::find_measure(const Json& test, TrialResult& result) const {
  const Json& values = test.at("evaluators");
  std::vector<std::string> names;
  for (const auto& [name, value] : values.items()) names.push_back(name);
  if (names.empty()) fail(Code::kUsage, quote(job_.job), " has no evaluators to compare by");
  result.measure = job_.measure.empty() ? names.front() : job_.measure;
  if (!values.contains(result.measure)) {
    fail(Code::kUsage, "the job's evaluators give no ", quote(result.measure),
         did_you_mean(result.measure, names), ", but ", join(names, ", "));
  }
  if (!values[result.measure].is_number())
    fail(Code::kUsage, result.measure, " of the test data is undefined");
  return values[result.measure].get<double>();
}

// The test data are the examples that follow those for training, [samples, samples + held_out), of the same
// generator: the same law, and no example twice.
AccuracyJob generated_accuracy_job(const std::string& programs, const TemporaryFolder& folder,
                                   int64_t samples) {
  AccuracyJob job{.name = "generated clicks",
                  .job = folder.path("job.json"),
                  .data = folder.path("train"),
                  .test_data = folder.path("test")};
  write_file(job.job, kGeneratedJob);
  const int64_t held_out = std::max<int64_t>(samples / 3, 1);
  auto generate = [&](int64_t first, int64_t count, const std::string& path) {
    run_child({.words = {program_path(programs, "ps-datagen"), "sparse-binary", "--dim", "5000", "--first",
                         std::to_string(first), "--samples", std::to_string(count), "--output", path},
               .errors = folder.path("messages")});
  };
  generate(0, samples, job.data);
  generate(samples, held_out, job.test_data);
  return job;
}

}  // namespace ps
