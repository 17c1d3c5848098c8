#include "job/test_intervals.h"

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/inspect/table_rows.h"
#include "train/bootstrap.h"

namespace ps {

namespace {

std::string number_or_undefined(const Json& value) {
  return value.is_null() ? "undefined" : significant(value, 6);
}

// Returns a line for each measure of a test: its name, its value, and the ends of its interval.
std::string intervals_text(const Json& test) {
  std::vector<std::vector<std::string>> lines = {{"evaluator", "value", "from", "to"}};
  for (const auto& [name, interval] : test["intervals"].items()) {
    const Json value = test["evaluators"].value(name, Json());
    const bool known = interval.is_array();
    lines.push_back({name, number_or_undefined(value), number_or_undefined(known ? interval[0] : Json()),
                     number_or_undefined(known ? interval[1] : Json())});
  }
  return aligned(lines);
}

}  // namespace

// The bootstrap sees all that the evaluators see, batch by batch, and measures its replicas after the test.
// The function that feeds it holds it by a shared pointer, as the trainer keeps that function.
Json test_model(const RunOptions& options, uint64_t seed, const Network<float>& network, Trainer& trainer,
                Device& device, BatchSource& source, const std::function<bool()>& stop) {
  if (!options.intervals) return trainer.test(-1, source, stop).json();
  if (network.make_evaluators().empty())
    fail(Code::kUsage, "--intervals: the job has no model.evaluators, whose intervals it prints");
  auto bootstrap = std::make_shared<Bootstrap>(seed, network.label_slots());
  trainer.on_measured([bootstrap](Matrix<const float> predictions, std::span<const float> log_losses,
                                  const Batch& batch) { bootstrap->add(predictions, log_losses, batch); });
  Json tested = trainer.test(-1, source, stop).json();
  tested["intervals"] =
      intervals_json(bootstrap->intervals([&network] { return network.make_evaluators(); }, device));
  if (!options.json) std::fputs(intervals_text(tested).c_str(), stdout);
  return tested;
}

}  // namespace ps
