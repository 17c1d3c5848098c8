// The part of NetworkExecution that runs layers and costs on the processor, with copies of the arrays of
// another device.
#include "base/reals.h"
#include "math/device_kernels.h"
#include "model/network_execution.h"

namespace ps {

// output_here <- the output of a node, after its activation.
template <class T>
void NetworkExecution<T>::fetch_output(size_t index) {
  NodeState<T>& node = nodes_[index];
  if (node.output_is_here) return;
  node.output_here.resize(static_cast<size_t>(node.output.size()));
  device_->kernels()->receive(node.output_here.data(), node.output.data(), node.output.bytes());
  node.output_is_here = true;
}

// Inputs that are slots of the batch are in the memory of the host anyway.
template <class T>
void NetworkExecution<T>::fetch_inputs(size_t index) {
  for (const InputRef& input : layers_.graph.nodes[index].inputs) {
    if (input.kind == InputKind::kLayer) fetch_output(input.index);
  }
}

// The layer writes its output to output_here, which is sent to the device, where the activation and the
// following nodes run.  output_is_here stays false, since the copy here is that before the activation:
// fetch_output gets the values again if a layer on the processor reads them.
template <class T>
void NetworkExecution<T>::forward_here(size_t index) {
  NodeState<T>& node = nodes_[index];
  fetch_inputs(index);
  node.output_here.resize(static_cast<size_t>(node.output.size()));
  Run run(*this, index);
  layers_.nodes[index].layer->forward(run);
  device_->kernels()->send(node.output.data(), node.output_here.data(), node.output.bytes());
}

// Fetches all that the backward of the layer reads: its inputs, its output, the gradient of the output, and
// the gradients of its inputs, to which other nodes may have added already and this one adds.  Then the
// gradients of the inputs go back to the device, where they replace the former ones.  Each fetch waits for
// the work of the device before it.
template <class T>
void NetworkExecution<T>::backward_here(size_t index) {
  DeviceKernels& kernels = *device_->kernels();
  const auto fetch_gradient = [&](NodeState<T>& node) {
    node.gradient_here.resize(static_cast<size_t>(node.gradient.size()));
    kernels.receive(node.gradient_here.data(), node.gradient.data(), node.gradient.bytes());
  };
  fetch_inputs(index);
  fetch_output(index);
  fetch_gradient(nodes_[index]);
  for (const InputRef& input : layers_.graph.nodes[index].inputs) {
    if (input.kind == InputKind::kLayer) fetch_gradient(nodes_[input.index]);
  }
  Run run(*this, index);
  layers_.nodes[index].layer->backward(run);
  for (const InputRef& input : layers_.graph.nodes[index].inputs) {
    if (input.kind != InputKind::kLayer) continue;
    NodeState<T>& below = nodes_[input.index];
    kernels.send(below.gradient.data(), below.gradient_here.data(), below.gradient.bytes());
  }
}

#define PS_INSTANTIATE(T)                                  \
  template void NetworkExecution<T>::fetch_output(size_t); \
  template void NetworkExecution<T>::fetch_inputs(size_t); \
  template void NetworkExecution<T>::forward_here(size_t); \
  template void NetworkExecution<T>::backward_here(size_t);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
