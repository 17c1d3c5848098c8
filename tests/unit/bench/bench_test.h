// Benchmarks that need no machine: their runs move a clock that the test holds.
#ifndef PS_TESTS_UNIT_BENCH_BENCH_TEST_H_
#define PS_TESTS_UNIT_BENCH_BENCH_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/runner.h"

namespace ps {

// Says what happened, in order, and how long each run takes: the first is the one that is checked.
struct Script {
  std::vector<double> seconds = {100, 1, 2, 3, 4, 5};
  Work work = {.bytes = 10, .items = 20};
  int wrong_check = 0;  // number, from 1, of the check that fails; 0: none
  std::string events = {};
  std::vector<double> figure = {140};      // of each run
  std::optional<double> own_seconds = {};  // what each run says it took
};

class ScriptedWorkload final : public Workload {
 public:
  ScriptedWorkload(Script& script, double& now) : script_(script), now_(now) {}

  void prepare() override {
    script_.events += 'p';
    now_ += 1000;  // must not count
  }
  void run() override {
    script_.events += 'r';
    now_ += script_.seconds[run_++ % script_.seconds.size()];
  }
  void check() override {
    script_.events += 'c';
    now_ += 1000;
    if (++checks_ == script_.wrong_check) expect_equal("answer", 41, 42);
  }
  Work work() const override { return script_.work; }
  std::vector<Figure> figures() const override {
    return {{"bytes a row", script_.figure[(run_ - 1) % script_.figure.size()]}};
  }
  std::optional<double> seconds() const override { return script_.own_seconds; }

 private:
  Script& script_;
  double& now_;
  size_t run_ = 0;
  int checks_ = 0;
};

// `script` and `now` outlive the benchmark.
inline Benchmark scripted(const std::string& name, Script& script, double& now) {
  return {.name = name, .help = "a script", .unit = "B", .make = [&](const BenchSettings&) {
            return std::make_unique<ScriptedWorkload>(script, now);
          }};
}

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return cat(static_cast<int>(error.code()), " ", error.message());
  }
  return "nothing thrown";
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_BENCH_BENCH_TEST_H_
