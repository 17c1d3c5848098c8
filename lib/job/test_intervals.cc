#include "job/test_intervals.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/inspect/table_rows.h"
#include "config/json.h"

namespace ps {

namespace {

std::string number_or_undefined(const Json& value) {
  return value.is_null() ? "undefined" : significant(value, 6);
}

}  // namespace

TestIntervals::TestIntervals(const Network<float>& network, uint64_t seed, Trainer& trainer)
    : network_(network), bootstrap_(seed, network.label_slot()) {
  if (network.make_evaluators().empty())
    fail(Code::kUsage, "--intervals: the job has no model.evaluators, whose intervals it prints");
  trainer.on_measured([this](Matrix<const float> predictions, std::span<const float> log_losses,
                             const Batch& batch) { bootstrap_.add(predictions, log_losses, batch); });
}

void TestIntervals::put(Json& test, Device& device) const {
  test["intervals"] =
      intervals_json(bootstrap_.intervals([this] { return network_.make_evaluators(); }, device));
}

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

}  // namespace ps
