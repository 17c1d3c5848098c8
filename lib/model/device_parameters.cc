#include "model/device_parameters.h"

#include <algorithm>

#include "base/reals.h"
#include "math/dense_kernels.h"
#include "math/sparse_kernels.h"

namespace ps {

// A parameter is sent if a layer on the device uses it and it does not lie there already.  Rows are [N,
// cols], N keys of the plan; other parameters are sent whole.
template <class T>
std::span<const ParameterView<T>> DeviceParameters<T>::send(std::span<const ParameterSpec> specs,
                                                            const std::vector<bool>& used,
                                                            std::span<const KeyPlan> plans,
                                                            std::span<const ParameterView<T>> views,
                                                            Device& device) {
  specs_ = specs;
  views_ = views;
  device_ = &device;
  copies_.resize(specs.size());
  there_.assign(views.begin(), views.end());
  for (size_t p = 0; p < specs.size(); ++p) {
    Copy& copy = copies_[p];
    copy.sent = used[p] && !views[p].there;
    copy.rows = specs[p].kind == ParameterKind::kRows ? std::ssize(plans[p].keys) : specs[p].rows;
    copy.cols = specs[p].cols;
  }
  upload();
  point_to_values();
  return there_;
}

// Copies the values of all parameters side by side into memory from which one transfer moves them to the
// device.  That memory has to be filled before other work is queued, so that nothing comes between the two
// loops.  Rows lie anywhere in the store's table and are gathered in the order of the plan's keys; blocks
// of them are shared out over the threads of the host.
template <class T>
void DeviceParameters<T>::upload() {
  for (Copy& copy : copies_) {
    if (copy.sent)
      copy.values = device_->kernels()->upload(static_cast<uint64_t>(copy.rows * copy.cols) * sizeof(T));
  }
  const std::vector<RowBlock> blocks = row_blocks();
  device_->host().run(std::ssize(blocks), [&](int64_t b) {
    const RowBlock& block = blocks[static_cast<size_t>(b)];
    const Copy& copy = copies_[block.parameter];
    const ParameterView<T>& here = views_[block.parameter];
    T* const to = static_cast<T*>(copy.values.here);
    if (here.rows == nullptr) {
      std::copy(here.value + block.begin * copy.cols, here.value + block.end * copy.cols,
                to + block.begin * copy.cols);
      return;
    }
    for (int64_t n = block.begin; n < block.end; ++n)
      std::copy_n(here.rows[n], copy.cols, to + n * copy.cols);
  });
}

// Makes the views point to the values, and to memory for gradients.  The first loop counts the values of
// all gradients and gives each its offset in gradients_, so that one buffer has them all: it is zeroed in
// one pass and comes back in one transfer.  For rows, the device makes the array of pointers to rows
// itself.
template <class T>
void DeviceParameters<T>::point_to_values() {
  int64_t gradients = 0;
  for (size_t p = 0; p < copies_.size(); ++p) {
    copies_[p].gradient = copies_[p].sent && gradient_here(p) != nullptr ? gradients : -1;
    if (copies_[p].gradient >= 0) gradients += copies_[p].rows * copies_[p].cols;
  }
  gradients_.resize(*device_, gradients);
  for (size_t p = 0; p < copies_.size(); ++p) {
    Copy& copy = copies_[p];
    if (!copy.sent) continue;
    T* const values = static_cast<T*>(copy.values.there);
    T* const gradient = copy.gradient < 0 ? nullptr : gradients_.data() + copy.gradient;
    if (specs_[p].kind != ParameterKind::kRows) {
      there_[p].value = values;
      there_[p].gradient = gradient;
      continue;
    }
    copy.pointers.resize(*device_, copy.rows);
    point_to_rows(*device_, values, copy.rows, copy.cols, copy.pointers.data());
    there_[p].rows = copy.pointers.data();
    there_[p].row_gradients = gradient;
  }
}

template <class T>
T* DeviceParameters<T>::gradient_here(size_t parameter) const {
  const ParameterView<T>& here = views_[parameter];
  return specs_[parameter].kind == ParameterKind::kRows ? here.row_gradients : here.gradient;
}

// Returns the rows of all parameters that were sent, divided into blocks for the threads of the host.
template <class T>
auto DeviceParameters<T>::row_blocks() const -> std::vector<RowBlock> {
  constexpr int64_t kBlockValues = 16384;
  std::vector<RowBlock> blocks;
  for (size_t p = 0; p < copies_.size(); ++p) {
    if (!copies_[p].sent) continue;
    const int64_t rows = copies_[p].rows,
                  at_once = std::max<int64_t>(1, kBlockValues / std::max<int64_t>(1, copies_[p].cols));
    for (int64_t begin = 0; begin < rows; begin += at_once)
      blocks.push_back({p, begin, std::min(rows, begin + at_once)});
  }
  return blocks;
}

// Backward leaves this out with Gradients::kAdd: gradients_ then has the sums of the batches before still,
// since these had the same rows, and so the same offsets.
template <class T>
void DeviceParameters<T>::zero_gradients() {
  fill_values(*device_, T(0), gradients_.size(), gradients_.data());
}

// One transfer brings gradients_ to the host; then threads copy the part of each parameter to the store's
// own memory.  Statistics are sent, but have no gradient (offset -1).
template <class T>
void DeviceParameters<T>::return_gradients() {
  if (gradients_.size() == 0) return;
  const T* const come =
      static_cast<const T*>(device_->kernels()->download(gradients_.data(), gradients_.bytes()));
  device_->kernels()->wait();
  const std::vector<RowBlock> blocks = row_blocks();
  device_->host().run(std::ssize(blocks), [&](int64_t b) {
    const RowBlock& block = blocks[static_cast<size_t>(b)];
    const Copy& copy = copies_[block.parameter];
    if (copy.gradient < 0) return;
    const T* const from = come + copy.gradient;
    std::copy(from + block.begin * copy.cols, from + block.end * copy.cols,
              gradient_here(block.parameter) + block.begin * copy.cols);
  });
}

template <class T>
void DeviceParameters<T>::return_statistics() {
  for (size_t p = 0; p < copies_.size(); ++p) {
    if (!copies_[p].sent || specs_[p].kind != ParameterKind::kStatistic) continue;
    const uint64_t bytes = static_cast<uint64_t>(copies_[p].rows * copies_[p].cols) * sizeof(T);
    device_->kernels()->receive(views_[p].value, copies_[p].values.there, bytes);
  }
}

#define PS_INSTANTIATE(T) template class DeviceParameters<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
