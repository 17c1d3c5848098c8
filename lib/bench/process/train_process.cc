#include "bench/process/train_process.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "config/json.h"
#include "train/model_file.h"

namespace ps {

namespace {

void read_model(const std::string& path, TrainRun& run) {
  SafetensorsReader reader(path);
  for (const TensorInfo& tensor : reader.tensors()) {
    if (tensor.name.ends_with(".rows")) run.rows += static_cast<uint64_t>(tensor.shape[0]);
  }
}

}  // namespace

TrainProcess::TrainProcess(const BenchSettings& settings, const Json& job, bool one_core)
    : programs_(settings.programs),
      program_(program_path(programs_, "ps-train")),
      threads_(settings.threads),
      passes_(job.at("train").at("passes").get<int>()),
      one_core_(one_core),
      folder_(settings.scratch) {
  write_file(folder_.path("job.json"), job.dump());
}

Command TrainProcess::command(const std::string& data) const {
  return {.words = {program_, folder_.path("job.json"), "--data", data, "--threads", std::to_string(threads_),
                    "--json", "--progress", "never"},
          .output = folder_.path("result.json"),
          .errors = folder_.path("messages"),
          .one_core = one_core_};
}

std::string TrainProcess::model() const {
  return join_path(folder_.path("models"), pass_directory(passes_ - 1));
}

// Models of the run before are removed, since ps-train refuses to mix runs.
Command TrainProcess::training(const std::string& data) const {
  std::filesystem::remove_all(folder_.path("models"));
  Command training = command(data);
  training.words.insert(training.words.end(), {"--save-dir", folder_.path("models")});
  return training;
}

void TrainProcess::train(const std::string& data) {
  usage_ = run_child(training(data));
  server_cpu_seconds_ = 0;
}

// The first line that the server prints has its port.  The server is ready then, so that the trainer spends
// no time on trying to connect.  After the trainer, the server is asked to end and its usage is added.
void TrainProcess::train_served(const std::string& data) {
  RunningChild server({.words = {program_path(programs_, "ps-serve"), folder_.path("job.json"), "--host",
                                 "127.0.0.1", "--port", "0", "--local-sockets"},
                       .errors = folder_.path("server-messages"),
                       .one_core = one_core_});
  const Json ready = parse_json(server.line(), "ps-serve");
  Command trainer = training(data);
  const std::string port = std::to_string(ready.at("ports").at(0).get<int>());
  trainer.words.insert(trainer.words.end(), {"--servers", cat("127.0.0.1:", port)});
  usage_ = run_child(trainer);
  server_cpu_seconds_ = server.end().cpu_seconds;
  usage_.cpu_seconds += server_cpu_seconds_;
}

std::string TrainProcess::model_bytes() const {
  return read_file(model_file_path(model()));
}

double TrainProcess::test(const std::string& data) const {
  Command testing = command(data);
  testing.words.insert(testing.words.end(), {"--job", "test", "--init-model", model()});
  testing.output = folder_.path("test.json");
  run_child(testing);
  return parse_json(read_file(testing.output), testing.output).at("test").at("cost").get<double>();
}

// Reads the report of ps-train, and counts the rows in the file of the last model: each tensor NAME.rows
// has a row for each key.
TrainRun TrainProcess::result() const {
  std::string path = folder_.path("result.json");
  if (!exists(path)) fail(Code::kInternal, "ps-train was not run");
  Json json = parse_json(read_file(path), path);
  TrainRun run;
  for (const Json& pass : json.at("passes")) {
    run.passes.push_back({pass.at("samples").get<uint64_t>(), pass.at("avg_cost").get<double>(),
                          pass.at("seconds").get<double>(), pass.value("save_seconds", 0.0)});
  }
  expect_equal("passes", run.passes.size(), static_cast<uint64_t>(passes_));
  run.usage = usage_;
  run.server_cpu_seconds = server_cpu_seconds_;
  read_model(model_file_path(model()), run);
  return run;
}

}  // namespace ps
