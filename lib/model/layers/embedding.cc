#include <algorithm>

#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/sparse_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct EmbeddingOptions : WeightedLayerOptions {
  int64_t size = 0;
  std::string pooling = "sum";
  int64_t ids_per_example = 0;
  bool sparse_update = false;

  static const ObjectSpec<EmbeddingOptions>& spec() {
    static const ObjectSpec<EmbeddingOptions> spec = [] {
      ObjectSpec<EmbeddingOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.field("size", &EmbeddingOptions::size, "values per id").must().at_least(1);
      s.field("pooling", &EmbeddingOptions::pooling,
              "what the rows of an example's ids become: their sum, their sum by the number of ids, all "
              "side by side, or a sequence, which has them one by one")
          .one_of({"sum", "mean", "concat", "none"});
      s.field("ids_per_example", &EmbeddingOptions::ids_per_example,
              "concat: places for ids in a slot; missing ones are zeros, more are an error")
          .at_least(0);
      s.field("sparse_update", &EmbeddingOptions::sparse_update,
              "the weights live in a table: only rows of ids that occur are stored and updated");
      s.check([](const EmbeddingOptions& options, std::string_view path) {
        if ((options.pooling == "concat") == (options.ids_per_example > 0)) return;
        fail(Code::kUsage, json_path(path, "ids_per_example"),
             options.pooling == "concat" ? ": missing (concat needs to know how many)"
                                         : ": only pooling 'concat' takes it");
      });
      return s;
    }();
    return spec;
  }
};

// output [B, S * width]: for each of S slots the rows of an example's ids, multiplied by their values: summed
// or averaged (width = size), or side by side (width = ids_per_example * size).  The slots share one table.
// Without pooling, output [K, size]: the rows of the K ids of one slot, multiplied by their values.
template <class T>
class Embedding final : public Layer<T> {
 public:
  Embedding(const EmbeddingOptions& options, LayerSetup& setup)
      : size_(options.size),
        ids_per_example_(options.ids_per_example),
        width_(options.size * std::max<int64_t>(1, options.ids_per_example)),
        mean_(options.pooling == "mean"),
        sequence_(options.pooling == "none") {
    require_sparse_inputs(setup, "embedding");
    int64_t rows = shared_table_rows(setup, options.sparse_update);
    weight_ = setup.add_rows({"weight", rows, size_, rows, /*smart_default=*/false, options.weight},
                             options.sparse_update);
    if (sequence_) {
      require_one_input(setup, "embedding with pooling \"none\"");
      setup.follow_ids(0);
    }
    // Gradients of copied and gathered rows are summed by key; those of narrow bags are scattered without a
    // transpose.
    const bool transposed = ids_per_example_ > 0 || sequence_ || !scatters_gradients(size_);
    for (const InputInfo& input : setup.inputs()) {
      uses_.push_back(setup.use_input(weight_, static_cast<int>(uses_.size()), transposed));
      names_.push_back(input.name);
    }
    setup.set_output(width_ * static_cast<int64_t>(uses_.size()));
  }

  bool runs_on_devices() const override { return true; }

  // Slot s fills the columns [s width, (s + 1) width) of the output.  Bags are added, so that the output
  // has to be zero before; copied rows set all of their columns.
  void forward(LayerRun<T>& run) override {
    if (sequence_) {
      return gather_rows<T>(run.device(), run.use(uses_.front()), id_values(run.slot(0)), run.rows(weight_),
                            run.output());
    }
    if (ids_per_example_ == 0) fill_values(run.device(), T(0), run.output().size(), run.output().data);
    for (int s = 0; s < num_slots(); ++s) {
      const KeyUse& use = run.use(uses_[static_cast<size_t>(s)]);
      Columns<T> out = columns(run.output(), s * width_, width_);
      if (ids_per_example_ > 0) {
        check_counts(use, s);
        copy_rows<T>(run.device(), use, id_values(run.slot(s)), run.rows(weight_), size_, out);
        continue;
      }
      add_bags<T>(run.device(), use, id_values(run.slot(s)), run.rows(weight_), out);
      if (mean_) divide_by_counts(run.device(), use, out);
    }
  }

  // The slots add to the gradients of one table, one after the other.  The mean divides the gradient by the
  // number of ids, and is a sum then.
  void backward(LayerRun<T>& run) override {
    if (sequence_) {
      return add_gathered_gradients<T>(run.device(), run.use(uses_.front()), id_values(run.slot(0)),
                                       run.output_gradient(), run.row_gradients(weight_));
    }
    for (int s = 0; s < num_slots(); ++s) {
      const KeyUse& use = run.use(uses_[static_cast<size_t>(s)]);
      Columns<const T> gradient = columns(run.output_gradient(), s * width_, width_);
      if (ids_per_example_ > 0) {
        add_copied_gradients<T>(run.device(), use, id_values(run.slot(s)), gradient, size_,
                                run.row_gradients(weight_));
        continue;
      }
      if (mean_) gradient = mean_gradient(run, use, gradient);
      add_bag_gradients<T>(run.device(), use, id_values(run.slot(s)), gradient, run.row_gradients(weight_));
    }
  }

 private:
  int num_slots() const { return static_cast<int>(uses_.size()); }

  // Throws kData for an example with more ids than places: copy_rows would write beyond its columns.
  void check_counts(const KeyUse& use, int slot) const {
    for (size_t b = 0; b + 1 < use.offsets.size(); ++b) {
      uint32_t count = use.offsets[b + 1] - use.offsets[b];
      if (count <= ids_per_example_) continue;
      fail(Code::kData, "example ", b, " of the batch has ", count, " ids in slot ",
           quote(names_[static_cast<size_t>(slot)]), ", more than ids_per_example, ", ids_per_example_);
    }
  }

  // The gradient of the sum, given that of the mean.
  Columns<const T> mean_gradient(LayerRun<T>& run, const KeyUse& use, Columns<const T> gradient) {
    int64_t examples = run.output().rows;
    scaled_.resize(run.device(), examples * width_);
    Columns<T> scaled{scaled_.data(), width_, width_};
    copy_columns<T>(run.device(), gradient, examples, scaled);
    divide_by_counts(run.device(), use, scaled);
    return scaled;
  }

  const int64_t size_, ids_per_example_, width_;
  const bool mean_, sequence_;
  int weight_;
  std::vector<int> uses_;
  std::vector<std::string> names_;
  DeviceBuffer<T> scaled_;  // [B, size]
};

}  // namespace

extern const LayerEntry kEmbeddingLayer = layer_entry<EmbeddingOptions, Embedding>(
    "embedding",
    "a row of weights for each id of its sparse slots: summed, averaged or side by side, slot by slot, or a "
    "sequence");

}  // namespace ps
