#include "config/spec.h"
#include "math/interaction_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct BiInteractionOptions : LayerOptions {
  int64_t size = 0;

  static const ObjectSpec<BiInteractionOptions>& spec() {
    static const ObjectSpec<BiInteractionOptions> spec = [] {
      ObjectSpec<BiInteractionOptions> s;
      s.include(LayerOptions::spec());
      s.field("size", &BiInteractionOptions::size,
              "values of a vector: the input has several of them side by side, as an embedding has")
          .must()
          .at_least(1);
      return s;
    }();
    return spec;
  }
};

// output [B, D] = sum over pairs i < j of v_i v_j, element by element, of the vectors v in input [B, F D].
template <class T>
class BiInteraction final : public Layer<T> {
 public:
  BiInteraction(const BiInteractionOptions& options, LayerSetup& setup) {
    require_dense_inputs(setup, "bi_interaction");
    require_one_input(setup, "bi_interaction");
    const InputInfo& input = setup.inputs().front();
    if (input.cols % options.size != 0 || input.cols == options.size) {
      fail(Code::kUsage, "size: ", quote(input.name), " has ", input.cols,
           " values, which are no vectors of ", options.size, ", two or more");
    }
    setup.set_output(options.size);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override { pair_products<T>(run.device(), run.input(0), run.output()); }

  void backward(LayerRun<T>& run) override {
    add_pair_gradients<T>(run.device(), run.input(0), run.output_gradient(), run.input_gradient(0));
  }
};

}  // namespace

extern const LayerEntry kBiInteractionLayer = layer_entry<BiInteractionOptions, BiInteraction>(
    "bi_interaction",
    "products of all pairs of the vectors in its input, such as an embedding of several slots, summed "
    "element by element");

}  // namespace ps
