// Messages that have rows: a head, followed by the rows of a bundle's slices.  Used by RemotePushes for
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

// The gradients of the running step: one buffer for each parameter that has gradients.
using GradientBuffers = std::vector<std::shared_ptr<Buffer>>;

// The rows of a message.
struct RowSource {
  // Returns the first row of the plan, for a slice by keys, or of the parameter, for another slice.
  std::function<const float*(const RoutedRows&)> begin;

  // The buffers of the gradients, which are encoded as `type`, or by the codecs of `residuals`, with their
  // residuals.  Gradients of f32 are sent from these buffers, which the message then shares.  If null, the rows
  // are weights, which are copied.
  const GradientBuffers* gradients = nullptr;
  RowType type = RowType::kF32;
  Residuals* residuals = nullptr;
};

// Returns the first float that a push sends for a parameter: of a statistic's values, or of gradients.
inline const float* pushed_floats(const ParameterSpec& spec, const ParameterView<float>& view) {
  if (spec.kind == ParameterKind::kRows) return view.row_gradients;
  return spec.kind == ParameterKind::kStatistic ? view.value : view.gradient;
}

// The objects with which messages are made.  The references outlive this.
struct RowMessageContext {
  const std::vector<ParameterSpec>& specs;
  const BatchRouter& router;
  BufferPool& pool;
  CpuLevel cpu;  // level of the loops that encode rows
};

// Returns a message of `head` and the rows of the bundle's slices, in their order, each slice padded.
Payload make_row_message(const RowMessageContext& context, std::string head, size_t shard,
                         const Bundle& bundle, const RowSource& source);

}  // namespace ps

#endif  // PS_PS_CLIENT_ROW_MESSAGE_H_
