#include "base/error.h"
#include "config/json.h"
#include "data/synth/count_law.h"
#include "data/synth/generator.h"

namespace ps {

constexpr int64_t kMostIds = int64_t{1} << 48;
constexpr int64_t kMaxSlots = 4096;

template <class T>
static std::string text_of(T number) {
  return cat(number);
}
static std::string text_of(SynthOptions::CountRange range) {
  return cat(range.minimum, ":", range.maximum);
}

// Sets the parameter `out` to `chosen`, if that is set.  Throws kUsage if the kind does not use the
// parameter, or the value is out of bounds.
template <class T>
static void set(std::optional<T>& out, const std::optional<T>& chosen, std::string_view kind,
                std::string_view flag, bool in_range, std::string_view range) {
  if (!chosen) return;
  if (!out) fail(Code::kUsage, flag, ": not a parameter of ", kind);
  if (!in_range) fail(Code::kUsage, flag, ": ", text_of(*chosen), " is out of range; expected ", range);
  out = chosen;
}

// A parameter that is not chosen is replaced by a value in its range for the comparison, and set() then
// leaves it alone.
void SynthOptions::apply(const SynthOptions& chosen, std::string_view kind) {
  auto within = [](auto value, auto low, auto high) { return value >= low && value <= high; };
  set(dim, chosen.dim, kind, "--dim", within(chosen.dim.value_or(1), 1, kMostIds), "1 to 2^48");
  CountRange counts = chosen.nnz.value_or(CountRange{0, 0});
  set(nnz, chosen.nnz, kind, "--nnz",
      counts.minimum >= 0 && counts.minimum <= counts.maximum && counts.maximum <= CountLaw::kMaxCount,
      "MIN:MAX with 0 <= MIN <= MAX <= 1000000");
  set(zipf, chosen.zipf, kind, "--zipf", within(chosen.zipf.value_or(0), 0.0, 10.0), "0 to 10");
  set(slots, chosen.slots, kind, "--slots", within(chosen.slots.value_or(1), 1, kMaxSlots), "1 to 4096");
  set(classes, chosen.classes, kind, "--classes", within(chosen.classes.value_or(2), 2, 1000), "2 to 1000");
  set(positive_rate, chosen.positive_rate, kind, "--positive-rate",
      within(chosen.positive_rate.value_or(0.5), 1e-4, 1 - 1e-4), "0.0001 to 0.9999");
  set(interaction, chosen.interaction, kind, "--interaction",
      within(chosen.interaction.value_or(0), 0.0, 1.0), "0 to 1");
}

Json SynthOptions::to_json() const {
  Json out = Json::object();
  if (dim) out["dim"] = *dim;
  if (nnz) out["nnz"] = {nnz->minimum, nnz->maximum};
  if (zipf) out["zipf"] = *zipf;
  if (slots) out["slots"] = *slots;
  if (classes) out["classes"] = *classes;
  if (positive_rate) out["positive_rate"] = *positive_rate;
  if (interaction) out["interaction"] = *interaction;
  return out;
}

}  // namespace ps
