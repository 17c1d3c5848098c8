#include "model/device_parameters.h"

#include <algorithm>

#include "base/reals.h"
#include "math/device_kernels.h"
#include "math/sparse_kernels.h"

namespace ps {

template <class T>
std::span<const ParameterView<T>> DeviceParameters<T>::send(std::span<const ParameterSpec> specs,
                                                            const std::vector<bool>& used,
                                                            std::span<const KeyPlan> plans,
                                                            std::span<const ParameterView<T>> views,
                                                            Device& device) {
  specs_ = specs;
  views_ = views;
  kernels_ = device.kernels().get();
  copies_.resize(specs.size());
  there_.assign(views.begin(), views.end());
  sent_.assign(specs.size(), false);
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!used[p] || views[p].there) continue;
    sent_[p] = true;
    specs[p].kind == ParameterKind::kRows ? send_rows(p, plans[p].keys, device) : send_whole(p, device);
  }
  return there_;
}

template <class T>
void DeviceParameters<T>::send_whole(size_t parameter, Device& device) {
  const ParameterView<T>& here = views_[parameter];
  const int64_t size = specs_[parameter].rows * specs_[parameter].cols;
  Copy& copy = copies_[parameter];
  copy.value.resize(device, size);
  kernels_->send(copy.value.data(), here.value, copy.value.bytes());
  there_[parameter].value = copy.value.data();
  if (here.gradient == nullptr) return;
  copy.gradient.resize(device, size);
  there_[parameter].gradient = copy.gradient.data();
}

template <class T>
void DeviceParameters<T>::send_rows(size_t parameter, std::span<const uint64_t> keys, Device& device) {
  const ParameterView<T>& here = views_[parameter];
  const int64_t rows = std::ssize(keys), cols = specs_[parameter].cols;
  Copy& copy = copies_[parameter];
  copy.gathered.resize(keys.size() * static_cast<size_t>(cols));
  for (int64_t n = 0; n < rows; ++n) std::copy_n(here.rows[n], cols, copy.gathered.data() + n * cols);
  copy.value.resize(device, rows * cols);
  kernels_->send(copy.value.data(), copy.gathered.data(), copy.value.bytes());
  copy.rows.resize(device, rows);
  point_to_rows(device, copy.value.data(), rows, cols, copy.rows.data());
  there_[parameter].rows = copy.rows.data();
  if (here.row_gradients == nullptr) return;
  copy.gradient.resize(device, rows * cols);
  there_[parameter].row_gradients = copy.gradient.data();
}

template <class T>
void DeviceParameters<T>::return_gradients() {
  for (size_t p = 0; p < sent_.size(); ++p) {
    T* const here = specs_[p].kind == ParameterKind::kRows ? views_[p].row_gradients : views_[p].gradient;
    if (sent_[p] && here != nullptr)
      kernels_->receive(here, copies_[p].gradient.data(), copies_[p].gradient.bytes());
  }
}

template <class T>
void DeviceParameters<T>::return_statistics() {
  for (size_t p = 0; p < sent_.size(); ++p) {
    if (!sent_[p] || specs_[p].kind != ParameterKind::kStatistic) continue;
    kernels_->receive(views_[p].value, copies_[p].value.data(), copies_[p].value.bytes());
  }
}

#define PS_INSTANTIATE(T) template class DeviceParameters<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
