// Times the selection of the thousandth of many values that is largest in size: by a sampled threshold,
// exactly, and by other libraries.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bench/codec/suite.h"
#include "bench/pages.h"
#include "bench/peers/torch.h"
#include "codec/selection.h"

namespace ps {

namespace {

size_t num_values(const BenchSettings& settings) {
  return scaled_power(settings.scale, 1 << 26, 1 << 20);
}

// The values, the number of those that are wanted, and the size that separates them from the others.
struct SelectionTask {
  explicit SelectionTask(const BenchSettings& settings)
      : values(bench_gradient(num_values(settings), 2)), count(values.size() / 1000) {
    std::vector<float> sizes(values.size());
    std::transform(values.begin(), values.end(), sizes.begin(), [](float x) { return std::fabs(x); });
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<int64_t>(count - 1), sizes.end(),
                     std::greater<>());
    least = sizes[count - 1];
  }

  Work work() const { return {.bytes = static_cast<double>(values.size() * sizeof(float))}; }

  std::vector<float> values;
  size_t count;
  float least = 0;
};

// Selections of pskit.  Each run draws another sample by draw_.  The values that are selected must all be
// among the largest `count`, whose least size the task knows from a full selection.  One owner thread.
class Selected final : public Workload {
 public:
  Selected(Selection kind, const BenchSettings& settings)
      : task_(settings), kind_(kind), selector_(kind, settings.cpu) {}

  void run() override { selector_.select(task_.values, task_.count, draw_++, selected_); }

  void check() override {
    const double found = static_cast<double>(selected_.size()), wanted = static_cast<double>(task_.count);
    const bool enough =
        found <= wanted && found >= (kind_ == Selection::kExact ? wanted : kLeastSelected * wanted);
    if (!enough) fail(Code::kInternal, found, " values were selected, expected ", wanted);
    for (size_t i = 0; i < selected_.size(); ++i) {
      const bool right = selected_.value[i] == task_.values[selected_.index[i]] &&
                         std::fabs(selected_.value[i]) >= task_.least;
      if (!right)
        fail(Code::kInternal, "value ", selected_.index[i], " was selected, which is smaller than ",
             task_.least);
    }
  }

  Work work() const override { return task_.work(); }
  std::vector<Figure> figures() const override {
    return {{"share of wanted", static_cast<double>(selected_.size()) / static_cast<double>(task_.count)}};
  }

 private:
  const SelectionTask task_;
  const Selection kind_;
  Selector selector_;
  uint64_t draw_ = 1;
  SparseVector selected_;
};

// std::nth_element on a copy of the sizes, which is made before the run.  One owner thread.
class NthElement final : public Workload {
 public:
  explicit NthElement(const BenchSettings& settings) : task_(settings) {}

  void prepare() override {
    sizes_.resize(task_.values.size());
    std::transform(task_.values.begin(), task_.values.end(), sizes_.begin(),
                   [](float x) { return std::fabs(x); });
  }
  void run() override {
    std::nth_element(sizes_.begin(), sizes_.begin() + at(), sizes_.end(), std::greater<>());
  }
  void check() override {
    const float found = sizes_[task_.count - 1];
    if (found != task_.least) fail(Code::kInternal, "size ", found, ", expected ", task_.least);
  }
  Work work() const override { return task_.work(); }

 private:
  int64_t at() const { return static_cast<int64_t>(task_.count - 1); }

  const SelectionTask task_;
  std::vector<float> sizes_;
};

// Selections of torch.  The script has the values before the first run, so that a run is the selection and
// one line each way.  One owner thread.
class TorchSelected final : public Workload {
 public:
  TorchSelected(bool sampled, const BenchSettings& settings)
      : task_(settings), sampled_(sampled), torch_(task_.values, task_.count, sampled) {}

  void run() override { found_ = torch_.select(); }

  // A sampled threshold selects a number of values that is only near the wanted one.
  void check() override {
    const double share = static_cast<double>(found_) / static_cast<double>(task_.count);
    if (sampled_ ? share < 0.3 || share > 3 : share != 1)
      fail(Code::kInternal, "torch selected ", found_, " values");
  }
  Work work() const override { return task_.work(); }
  std::vector<Figure> figures() const override {
    return {{"share of wanted", static_cast<double>(found_) / static_cast<double>(task_.count)}};
  }

 private:
  const SelectionTask task_;
  const bool sampled_;
  TorchSelection torch_;
  uint64_t found_ = 0;
};

}  // namespace

// The two selections of pskit stand beside all others; the limit is one reading of the values.
std::vector<Benchmark> selection_benchmarks() {
  std::vector<Benchmark> out;
  auto add = [&](const char* name, const char* help, MakeWorkload make, std::vector<std::string> peers) {
    out.push_back({.name = cat("dgc/select/", name),
                   .help = help,
                   .unit = "B",
                   .make = std::move(make),
                   .limit = "limits/read",
                   .peers = std::move(peers)});
  };
  const std::vector<std::string> peers = {"dgc/select/torch-sampled", "dgc/select/torch-topk",
                                          "dgc/select/nth-element"};
  auto selected = [](Selection kind) {
    return [kind](const BenchSettings& settings) { return std::make_unique<Selected>(kind, settings); };
  };
  auto torch = [](bool sampled) {
    return [sampled](const BenchSettings& settings) {
      return std::make_unique<TorchSelected>(sampled, settings);
    };
  };
  add("sampled", "the largest thousandth of 64 M floats, by a threshold from a sample",
      selected(Selection::kSampled), peers);
  add("exact", "the largest thousandth of 64 M floats, exactly", selected(Selection::kExact), peers);
  add("nth-element", "std::nth_element on their sizes",
      [](const BenchSettings& settings) { return std::make_unique<NthElement>(settings); }, {});
  add("torch-sampled", "python3-torch: topk of a strided sample of 1 %, then a mask", torch(true), {});
  add("torch-topk", "python3-torch: topk of all sizes", torch(false), {});
  return out;
}

}  // namespace ps
