#include "job/importance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/inspect/table_rows.h"
#include "config/json.h"
#include "train/figure.h"

namespace ps {

namespace {

constexpr const char* kFlag = "--importance";

// Throws kData for a figure that is undefined, as an AUC of one class is.
double defined_figure(const TestResult& tested, const std::string& figure) {
  const std::optional<double> value = figure_of(tested.json(), figure, kFlag);
  if (value && std::isfinite(*value)) return *value;
  fail(Code::kData, kFlag, ": ", quote(figure), " is undefined on these data");
}

}  // namespace

int64_t SwappedSlotSource::begin_pass(const SourcePass& pass, const Stop&) {
  reader_.begin_pass(0);
  shuffled_.begin_pass(static_cast<int>(slot_));
  planners_ = network_.make_planners(pass.key_order);
  prepared_.training = pass.training;
  return 0;
}

const PreparedBatch* SwappedSlotSource::next(const Stop& stop) {
  if (stop() || !reader_.next(prepared_.batch)) return nullptr;
  if (!shuffled_.next(other_) || other_.size() != prepared_.batch.size()) {
    fail(Code::kData, kFlag, ": the data have changed while they were read");
  }
  std::swap(prepared_.batch.slots[slot_], other_.slots[slot_]);
  network_.prepare(planners_, prepared_);
  return &prepared_;
}

Json slot_importance(Trainer& trainer, const Network<float>& network, const std::string& figure,
                     BatchSource& source, SwappedSlotSource& swapped, const std::function<bool()>& stop) {
  const bool larger = larger_is_better(figure, kFlag);
  const double value = defined_figure(trainer.test(-1, source, stop), figure);
  const DataSchema& schema = network.schema();
  const std::vector<size_t> labels = network.label_slots();
  std::vector<Json> slots;
  for (size_t s = 0; s < schema.slots.size() && !stop(); ++s) {
    if (std::ranges::find(labels, s) != labels.end()) continue;
    const std::string& name = schema.slots[s].name;
    swapped.swap(s);
    const double without = defined_figure(trainer.test(-1, swapped, stop, "Without " + name), figure);
    slots.push_back(
        {{"slot", name}, {"value", without}, {"importance", larger ? value - without : without - value}});
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Json& a, const Json& b) { return a["importance"] > b["importance"]; });
  return {{"figure", figure}, {"value", value}, {"slots", slots}};
}

std::string importance_text(const Json& importance) {
  const std::string figure = importance["figure"];
  std::vector<std::vector<std::string>> lines = {{"importance", figure + " without", "slot"}};
  for (const Json& slot : importance["slots"]) {
    lines.push_back({significant(slot["importance"], 5), significant(slot["value"], 6), slot["slot"]});
  }
  return cat(figure, "=", significant(importance["value"], 6), "\n", aligned(lines));
}

}  // namespace ps
