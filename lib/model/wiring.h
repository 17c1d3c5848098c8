// Wiring: what the layers of a graph have declared of themselves: parameters, look-ups, widths.  Made by
// Network while it builds its layers, constant after.
#ifndef PS_MODEL_WIRING_H_
#define PS_MODEL_WIRING_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"
#include "model/layer.h"
#include "optim/parameter.h"

namespace ps {

// Ids that a layer looks up in a kRows parameter: those of a slot, or those it draws itself.
struct Lookup {
  int parameter;
  size_t position;             // in KeyPlan::uses
  size_t node;                 // whose sample_keys, when drawn
  std::optional<size_t> slot;  // none: drawn
  size_t samples;              // drawn: position in PreparedBatch::samples, the same for all of the node
  bool transposed;             // backward needs the transposed part of the use
};

struct LayerSize;  // model/network.h

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

// Lets layer `node` declare itself.  Layers must come in the graph's order.
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

  // To be called when the layer is made.  Throws kUsage when share_with shared nothing, when the layer does not take the
  // sequences that are its input, or when its device cannot have its parameters.
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
  bool shared_ = false, takes_sequences_ = false, has_rows_ = false;
};

// Sizes of the layers, in the graph's order, for sequences of `ids` ids.
std::vector<LayerSize> layer_sizes(const Graph& graph, const DataSchema& schema, const Wiring& wiring,
                                   int64_t ids);

// "hidden1: fc 18182296 -> 256 tanh, sparse update, 4.65 G weights", a line a layer.
std::string describe(const Graph& graph, const DataSchema& schema, const Wiring& wiring);

}  // namespace ps

#endif  // PS_MODEL_WIRING_H_
