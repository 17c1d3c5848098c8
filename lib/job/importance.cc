#include "job/importance.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/inspect/table_rows.h"
#include "config/json.h"
#include "train/figure.h"

namespace ps {

namespace {

constexpr const char* kFlag = "--importance";

// The result of a test with one slot swapped.
struct WithoutSlot {
  std::string slot;
  Json tested;
};

// Throws kData for a figure that is undefined, as an AUC of one class is.
double defined_figure(const Json& tested, const std::string& figure) {
  const std::optional<double> value = figure_of(tested, figure, kFlag);
  if (value && std::isfinite(*value)) return *value;
  fail(Code::kData, kFlag, ": ", quote(figure), " is undefined on these data");
}

// Returns the object of one figure.
Json importance_by(const std::string& figure, const Json& tested, const std::vector<WithoutSlot>& all) {
  const bool larger = larger_is_better(figure, kFlag);
  const double value = defined_figure(tested, figure);
  std::vector<Json> slots;
  for (const WithoutSlot& each : all) {
    const double without = defined_figure(each.tested, figure);
    slots.push_back({{"slot", each.slot},
                     {"value", without},
                     {"importance", larger ? value - without : without - value}});
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Json& a, const Json& b) { return a["importance"] > b["importance"]; });
  return {{"figure", figure}, {"value", value}, {"slots", slots}};
}

std::string table_text(const Json& importance) {
  const std::string figure = importance["figure"];
  std::vector<std::vector<std::string>> lines = {{"importance", figure + " without", "slot"}};
  for (const Json& slot : importance["slots"]) {
    lines.push_back({significant(slot["importance"], 5), significant(slot["value"], 6), slot["slot"]});
  }
  return cat(figure, "=", significant(importance["value"], 6), "\n", aligned(lines));
}

}  // namespace

// The number of the slot stands for that of the pass, from which the reader's shuffle follows: each slot
// gets another order.
int64_t SwappedSlotSource::begin_pass(const SourcePass& pass, const Stop&) {
  reader_.begin_pass(0);
  shuffled_.begin_pass(static_cast<int>(slot_));
  planners_ = network_.make_planners(pass.key_order);
  prepared_.training = pass.training;
  return 0;
}

// Takes a batch from each reader and swaps their data of one slot.  All other slots, labels and weights
// stay.
const PreparedBatch* SwappedSlotSource::next(const Stop& stop) {
  if (stop() || !reader_.next(prepared_.batch)) return nullptr;
  if (!shuffled_.next(other_) || other_.size() != prepared_.batch.size()) {
    fail(Code::kData, kFlag, ": the data have changed while they were read");
  }
  std::swap(prepared_.batch.slots[slot_], other_.slots[slot_]);
  network_.prepare(planners_, prepared_);
  return &prepared_;
}

// Tests once with the data as they are, then once for each slot with that slot swapped.  A figure that is
// missing or undefined is refused after the first test, before the many that follow.  Slots of labels are
// left out: without its label an example has no figure.  If several labels have the figure, each of them
// gets a list of its own.
Json slot_importance(Trainer& trainer, const Network<float>& network, const std::string& figure,
                     BatchSource& source, SwappedSlotSource& swapped, const std::function<bool()>& stop) {
  larger_is_better(figure, kFlag);  // throws before anything is read
  const Json tested = trainer.test(-1, source, stop).json();
  const std::vector<std::string> figures = figures_named(tested, figure, kFlag);
  for (const std::string& each : figures) defined_figure(tested, each);
  const DataSchema& schema = network.schema();
  const std::vector<size_t> labels = network.label_slots();
  std::vector<WithoutSlot> all;
  for (size_t s = 0; s < schema.slots.size() && !stop(); ++s) {
    if (std::ranges::find(labels, s) != labels.end()) continue;
    const std::string& name = schema.slots[s].name;
    swapped.swap(s);
    all.push_back({name, trainer.test(-1, swapped, stop, "Without " + name).json()});
  }
  if (figures.size() == 1) return importance_by(figures[0], tested, all);
  Json of_labels = Json::array();
  for (const std::string& each : figures) of_labels.push_back(importance_by(each, tested, all));
  return {{"figure", figure}, {"labels", of_labels}};
}

std::string importance_text(const Json& importance) {
  if (!importance.contains("labels")) return table_text(importance);
  std::string text;
  for (const Json& each : importance["labels"]) text += cat(text.empty() ? "" : "\n", table_text(each));
  return text;
}

}  // namespace ps
