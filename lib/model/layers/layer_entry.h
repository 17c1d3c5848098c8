// Shared by the files of this folder.  A layer is a file with
//   - an options struct, derived from LayerOptions or WeightedLayerOptions, whose spec() includes theirs;
//   - a template <class T> class derived from Layer<T>, made from (const Options&, LayerSetup&);
//   - last, its entry:  extern const LayerEntry kFcLayer = layer_entry<FcOptions, Fc>("fc", "help");
// and two lines in catalog.cc.
//
// A constructor refuses what it cannot take by throwing kUsage with a message that begins with the key at
// fault, "input: …": the network puts the layer's path before it.
#ifndef PS_MODEL_LAYERS_LAYER_ENTRY_H_
#define PS_MODEL_LAYERS_LAYER_ENTRY_H_

#include <memory>
#include <string_view>

#include "base/reals.h"
#include "config/spec.h"
#include "model/layer.h"

namespace ps {

namespace layer_internal {

template <class Options, template <class> class LayerOf, class T>
std::unique_ptr<Layer<T>> make(const Json& object, LayerSetup& setup) {
  return std::make_unique<LayerOf<T>>(Options::spec().parse(object, ""), setup);
}

}  // namespace layer_internal

template <class Options, template <class> class LayerOf>
constexpr LayerEntry layer_entry(std::string_view name, std::string_view help) {
  LayerEntry entry = {{name, help, []() -> const AnySpec& { return Options::spec(); }},
                      layer_internal::make<Options, LayerOf, float>};
  if constexpr (kDoubles) entry.make_double = layer_internal::make<Options, LayerOf, double>;
  return entry;
}

// The values that multiply the rows of a slot's ids, for kernels; null when all values are 1.
inline const float* id_values(const SlotData& slot) {
  return slot.valued() ? slot.values.data() : nullptr;
}

// Throws unless every input is a sparse slot; `layer` is the entry's name.
inline void require_sparse_inputs(const LayerSetup& setup, std::string_view layer) {
  for (const InputInfo& input : setup.inputs()) {
    if (input.kind == InputKind::kSparseSlot) continue;
    fail(Code::kUsage, "input: ", layer, " takes sparse slots, found ", quote(input.name), ", a ",
         input.kind == InputKind::kLayer ? "layer" : "dense slot");
  }
}

// Throws when an input is a sparse slot.
inline void require_dense_inputs(const LayerSetup& setup, std::string_view layer) {
  for (const InputInfo& input : setup.inputs()) {
    if (input.kind != InputKind::kSparseSlot) continue;
    fail(Code::kUsage, "input: ", layer, " takes layers and dense slots, found ", quote(input.name),
         ", a sparse slot (an fc or embedding layer makes a layer of it)");
  }
}

// Throws when there is more than one input.
inline void require_one_input(const LayerSetup& setup, std::string_view layer) {
  if (setup.inputs().size() == 1) return;
  fail(Code::kUsage, "input: ", layer, " takes one input, found ", setup.inputs().size());
}

// Throws unless there are `count` inputs of the same width, layers or dense slots.
inline void require_matching_inputs(const LayerSetup& setup, std::string_view layer, size_t count) {
  require_dense_inputs(setup, layer);
  const std::span<const InputInfo> inputs = setup.inputs();
  if (inputs.size() != count)
    fail(Code::kUsage, "input: ", layer, " takes ", count, " inputs, found ", inputs.size());
  for (const InputInfo& input : inputs) {
    if (input.cols == inputs[0].cols) continue;
    fail(Code::kUsage, "input: ", layer, " takes inputs of one width, found ", quote(inputs[0].name),
         " with ", inputs[0].cols, " and ", quote(input.name), " with ", input.cols);
  }
}

// Rows of a table that all inputs, sparse slots, look up their ids in: the largest dim, or 0 when any is 0.
// Throws when that is 0 but the table is not sparse.
inline int64_t shared_table_rows(const LayerSetup& setup, bool sparse_update) {
  int64_t rows = 0;
  for (const InputInfo& input : setup.inputs()) {
    if (input.cols == 0 && sparse_update) return 0;
    if (input.cols == 0) {
      fail(Code::kUsage, "sparse_update: must be true, since slot ", quote(input.name), " has no dim");
    }
    rows = input.cols > rows ? input.cols : rows;
  }
  return rows;
}

}  // namespace ps

#endif  // PS_MODEL_LAYERS_LAYER_ENTRY_H_
