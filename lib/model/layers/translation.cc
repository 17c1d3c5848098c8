#include "config/spec.h"
#include "math/interaction_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct TranslationOptions : LayerOptions {
  std::string norm = "l2";

  static const ObjectSpec<TranslationOptions>& spec() {
    static const ObjectSpec<TranslationOptions> spec = [] {
      ObjectSpec<TranslationOptions> s;
      s.include(LayerOptions::spec());
      s.field("norm", &TranslationOptions::norm,
              "l1: the sum of absolute values; l2: the root of that of squares")
          .one_of({"l1", "l2"});
      return s;
    }();
    return spec;
  }
};

// output [B, 1] = -|head + relation - tail|, of the inputs [B, D] in this order.
template <class T>
class TranslationLayer final : public Layer<T> {
 public:
  TranslationLayer(const TranslationOptions& options, LayerSetup& setup) : squares_(options.norm == "l2") {
    require_matching_inputs(setup, "translation", 3);
    setup.set_output(1);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    translation_scores<T>(run.device(), inputs(run), run.output().data);
  }

  void backward(LayerRun<T>& run) override {
    for (int i = 0; i < 3; ++i) {
      add_translation_gradients<T>(run.device(), inputs(run), run.output().data, run.output_gradient().data,
                                   i == 2 ? T(-1) : T(1), run.input_gradient(i));
    }
  }

 private:
  Translation<T> inputs(LayerRun<T>& run) const {
    return {run.input(0), run.input(1), run.input(2), squares_};
  }

  const bool squares_;
};

}  // namespace

extern const LayerEntry kTranslationLayer = layer_entry<TranslationOptions, TranslationLayer>(
    "translation",
    "TransE: minus the distance of head + relation from tail, of three inputs of one width in this order");

}  // namespace ps
