// DenseLink: the dense parameters of one trainer, pulled and pushed by another process, which computes for it.  Used by
// ps-train --role compute.
//
// For the servers, both processes are one rank.  The trainer pulls and pushes the rows that batches use by keys,
// and ends passes.  This link pulls all other parameters, and pushes their gradients.  A shard has a step of the
// rank when it has the messages of both processes, so that it applies the same gradients as those of a trainer
// in one process.
#ifndef PS_PS_CLIENT_DENSE_LINK_H_
#define PS_PS_CLIENT_DENSE_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ps/client/remote_pulls.h"
#include "ps/client/shard_links.h"
#include "store/parameter_store.h"

namespace ps {

// One owner thread.  begin_pull, finish_pull and push are called in this order, for one step after the other.
// The calls that take a DenseStep follow this order for each step, and several steps may overlap.
class DenseLink {
 public:
  // options.in_run is the trainer's run.  Throws as ShardLinks does.
  DenseLink(Transport& transport, const RemoteOptions& options, std::vector<ParameterSpec> specs);

  // Asks for the weights of this step, unless they have been asked for.  The step may be a guess; a call for
  // another step may follow.
  void begin_pull(uint64_t step);

  // Returns true if finish_pull would not wait.
  bool pulled() const { return links_.failed() || pulls_.arrived(); }
  bool failed() const { return links_.failed(); }

  // views <- the weights of the last step that was asked for, and buffers for all gradients.  These include the
  // gradients of the rows of `plans`, whose weights the caller has.  Throws as ShardLinks::wait does.
  void finish_pull(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views);

  // The state of one of several overlapping steps, with its weights and gradients.  A DenseStep belongs to one
  // step from begin_pull, or from prepare, to push.
  using DenseStep = RemotePulls;
  std::unique_ptr<DenseStep> make_step() { return std::make_unique<DenseStep>(links_, specs_, RowTypes()); }
  void begin_pull(DenseStep& step, uint64_t number) const;
  bool pulled(const DenseStep& step) const { return links_.failed() || step.arrived(); }
  void finish_pull(DenseStep& step, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) const {
    step.finish_last(plans, views);
  }

  // views <- buffers for all gradients, without a pull, for a caller that has all weights.
  void prepare(DenseStep& step, std::span<const KeyPlan> plans,
               std::vector<ParameterView<float>>& views) const {
    step.prepare(plans, PullScope::kCompute, views);
  }
  void push(DenseStep& step, uint64_t number, std::span<const ParameterView<float>> views,
            std::function<void()> on_held);

  // Returns the buffers of the gradients, from which messages are made.
  const GradientBuffers& gradients() const { return pulls_.gradients(); }

  // Sends the gradients of this step.  `on_held` is called when the servers hold all of them, during this call
  // or later by the loop.  From then on the step does not need this process any more.  It is not called if a link
  // fails.
  void push(std::span<const ParameterView<float>> views, std::function<void()> on_held) {
    push(pulls_, *asked_step_, views, std::move(on_held));
  }

  // Throws the error because of which failed() is true.
  void check() {
    links_.wait([] { return true; });
  }

 private:
  const std::vector<ParameterSpec> specs_;
  const std::vector<KeyPlan> no_plans_;  // empty plans, one for each parameter
  ShardLinks links_;
  RemotePulls pulls_;
  std::optional<uint64_t> asked_step_;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_DENSE_LINK_H_
