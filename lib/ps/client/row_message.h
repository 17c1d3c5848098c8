// Messages that have rows: a head, and the rows of a bundle's slices behind it.  Used by RemotePushes for
// gradients, and by RemoteModel for weights.
#ifndef PS_PS_CLIENT_ROW_MESSAGE_H_
#define PS_PS_CLIENT_ROW_MESSAGE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/row_codec.h"
#include "net/buffer_pool.h"
#include "net/frame.h"
#include "optim/parameter.h"
#include "ps/client/residuals.h"
#include "ps/wire/batch_router.h"

namespace ps {

// Gradients of the running step: a buffer of each parameter that has one.
using GradientBuffers = std::vector<std::shared_ptr<Buffer>>;

// The rows of a message.
struct RowSource {
  // The first row of the plan of a slice that goes by keys, or of the parameter of another.
  std::function<const float*(const RoutedRows&)> begin;

  // The buffers of gradients, which are encoded as `type`, or by the codecs that `residuals` have, with their residuals.
  // Gradients of f32 are sent from where they lie, and the message shares their buffers.  Null: the rows are weights, which
  // are copied.
  const GradientBuffers* gradients = nullptr;
  RowType type = RowType::kF32;
  Residuals* residuals = nullptr;
};

// The first float of what a push has of a parameter: a statistic's values, or gradients.
inline const float* pushed_floats(const ParameterSpec& spec, const ParameterView<float>& view) {
  if (spec.kind == ParameterKind::kRows) return view.row_gradients;
  return spec.kind == ParameterKind::kStatistic ? view.value : view.gradient;
}

// The tools to make messages with.  The references outlive this.
struct RowMessageContext {
  const std::vector<ParameterSpec>& specs;
  const BatchRouter& router;
  BufferPool& pool;
  CpuLevel cpu;  // of the loops that encode rows
};

// A message of `head` and the rows of the bundle's slices, in their order, each slice padded.
Payload make_row_message(const RowMessageContext& context, std::string head, size_t shard,
                         const Bundle& bundle, const RowSource& source);

}  // namespace ps

#endif  // PS_PS_CLIENT_ROW_MESSAGE_H_
