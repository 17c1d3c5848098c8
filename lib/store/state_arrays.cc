#include "store/state_arrays.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

namespace {

constexpr uint64_t kRowsAtOnce = 1024;  // rows copied from a table at a time

// Calls body(block, first) for all rows of the parameter, kRowsAtOnce at a time.
template <class Body>
void for_blocks(const LocalStore& store, int parameter, const ParameterSpec& spec, Body&& body) {
  std::vector<uint64_t> keys;
  RowBlock block;
  for (uint64_t first = 0; first < static_cast<uint64_t>(spec.rows); first += keys.size()) {
    keys.clear();
    const uint64_t end = std::min(first + kRowsAtOnce, static_cast<uint64_t>(spec.rows));
    for (uint64_t key = first; key < end; ++key) keys.push_back(key);
    block.clear();
    store.copy_rows(parameter, keys, block);
    body(block, first);
  }
}

size_t state_values(const LocalStore& store, int parameter) {
  const TableLayout layout = store.layout(parameter);
  return static_cast<size_t>(layout.width * layout.state_arrays);
}

}  // namespace

// Returns the state of all rows, [rows, state_arrays * cols]: what follows the cols weights of each stored
// row.
std::vector<float> copy_state(const LocalStore& store, int parameter, const ParameterSpec& spec) {
  const size_t cols = static_cast<size_t>(spec.cols), values = state_values(store, parameter);
  std::vector<float> state;
  if (values == 0) return state;
  state.reserve(static_cast<size_t>(spec.rows) * values);
  for_blocks(store, parameter, spec, [&](const RowBlock& block, uint64_t) {
    for (size_t row = 0; row < block.size(); ++row) {
      const float* of_row = block.values.data() + row * (cols + values) + cols;
      state.insert(state.end(), of_row, of_row + values);
    }
  });
  return state;
}

// Copies each row whole, puts the new state behind its weights, and puts it back, since tables take rows as
// a whole.
void put_state(LocalStore& store, int parameter, const ParameterSpec& spec, const std::vector<float>& state) {
  const size_t cols = static_cast<size_t>(spec.cols), values = state_values(store, parameter);
  PS_CHECK(state.size() == static_cast<size_t>(spec.rows) * values);
  if (values == 0) return;
  for_blocks(store, parameter, spec, [&](RowBlock& block, uint64_t first) {
    for (size_t row = 0; row < block.size(); ++row) {
      std::copy_n(state.data() + (first + row) * values, values,
                  block.values.data() + row * (cols + values) + cols);
    }
    store.put_rows(parameter, block);
  });
}

}  // namespace ps
