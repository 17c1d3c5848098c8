// Wiring: what the layers of a graph have declared of themselves: parameters, look-ups, widths.  Made while the layers
// of a network are built, constant after.
#ifndef PS_MODEL_WIRING_H_
#define PS_MODEL_WIRING_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"
#include "model/layer.h"
#include "optim/parameter.h"

namespace ps {

// Ids that a layer looks up in a kRows parameter: those of a slot, or those that it draws itself.
struct Lookup {
  int parameter;
  size_t position;             // in KeyPlan::uses
  size_t node;                 // the node that draws them, if they are drawn
  std::optional<size_t> slot;  // none: drawn
  size_t samples;              // if drawn: index in PreparedBatch::samples, one for the node
  bool transposed;             // backward needs the transposed part of the use
};

// The size of one layer, for planning how a model is trained.
struct LayerSize {
  std::string name, type;
  int64_t inputs = 0;   // values per example that it reads from layers and dense slots
  int64_t outputs = 0;  // values per example of its output
  int64_t weights = 0;  // weights of its own dense parameters; a table without a dim has none
  int64_t biases = 0;   // those of the weights that are in parameters of one row
  bool sparse = false;  // it has a table too, which is trained sparsely
  // Multiply-adds per example: in an image each weight serves every pixel, in a sequence every id.
  int64_t multiply_adds = 0;
};

struct Wiring {
  std::vector<ParameterSpec> parameters;
  std::vector<Lookup> lookups;
  std::vector<std::vector<int>> lookups_of;               // by parameter: lookups of its plan, in order
  std::vector<std::vector<size_t>> row_slots;             // by parameter: Network::row_slots
  std::vector<std::map<std::string, int>> parameters_of;  // by node, by suffix
  std::vector<int64_t> cols;                              // by node: values per example
  std::vector<std::optional<ImageShape>> images;          // by node: when these are an image
  std::vector<std::optional<size_t>> sequences;           // by node: when it has a row for each id of a slot
  std::vector<int64_t> pair_work;                         // by node: see LayerSetup::count_pair_work

  // The first parameter before this one that looks up the same ids in the same order, as the linear and the
  // pairwise part of a factorisation machine do; or none.
  std::optional<size_t> same_ids_as(size_t parameter) const;
};

// Records the declarations of layer `node` in a Wiring.  One owner thread.  Layers must come in the graph's
// order.
class NodeSetup final : public LayerSetup {
 public:
  NodeSetup(const Graph& graph, const DataSchema& schema, uint64_t seed, size_t node, Wiring& wiring);

  std::span<const InputInfo> inputs() const override { return inputs_; }
  int add_matrix(const Request& request) override;
  int add_rows(const Request& request, bool sparse_update) override;
  int add_statistic(const std::string& suffix, int64_t rows, int64_t cols, double initial) override;
  int use_input(int parameter, int input, bool transposed) override;
  int use_samples(int parameter) override;
  void set_output(int64_t cols) override;
  void set_image_output(const ImageShape& image) override;
  void keep_rows() override;
  void join_rows() override;
  void follow_ids(int input) override;
  void count_pair_work(int64_t multiply_adds) override { wiring_.pair_work[index_] = multiply_adds; }

  // To be called when the layer has been made.  Throws kUsage if share_with shared nothing, if an input is
  // sequences and the layer does not take them, or if its device cannot have its parameters.
  void finish() const;

 private:
  int add(const std::string& suffix, ParameterSpec spec);
  int share(const std::string& suffix, const ParameterSpec& spec);
  int add_lookup(int parameter, std::optional<size_t> slot, bool transposed);
  void add_row_slot(int parameter, size_t slot);
  void check_device() const;

  const LayerNode& node_;
  const size_t index_;
  const Graph& graph_;
  const uint64_t seed_;
  std::vector<InputInfo> inputs_;
  Wiring& wiring_;
  bool shared_ = false, reads_sequences_ = false, has_rows_ = false;
};

// Returns the layer of `node`, which has declared itself to `wiring`.  Layers must come in the graph's order.
// Throws the errors of the layer, with the path of the node before them.
template <class T>
std::unique_ptr<Layer<T>> make_layer(const Graph& graph, const DataSchema& schema, uint64_t seed, size_t node,
                                     Wiring& wiring);

// Returns the parameters that a model has for data of this schema, for processes that hold or read parameters
// and do not compute: it needs no threads, devices or weights.  Each layer is made and dropped at once, since
// its constructor is the one place that checks its keys and inputs and says the shapes of its parameters; later
// layers need these.  Throws kUsage as Network does for the layers.
std::vector<ParameterSpec> model_parameters(const ModelOptions& options, const DataSchema& schema,
                                            uint64_t seed);

// Sizes of the layers, in the graph's order, for sequences of `ids` ids.
std::vector<LayerSize> layer_sizes(const Graph& graph, const DataSchema& schema, const Wiring& wiring,
                                   int64_t ids);

// "hidden1: fc 18182296 -> 256 tanh, sparse update, 4.65 G weights", a line a layer.
std::string describe(const Graph& graph, const DataSchema& schema, const Wiring& wiring);

}  // namespace ps

#endif  // PS_MODEL_WIRING_H_
