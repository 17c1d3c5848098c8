// DenseLink: the dense parameters of one trainer, pulled and pushed by another process, which computes for it.  Used by
// ps-train --role compute.
//
// Towards the servers both are one rank: the trainer pulls and pushes the rows that batches use by keys, and ends passes;
// this pulls all other parameters, and pushes their gradients.  A shard has a step of the rank when it has the messages
// of both, so that it adds up and applies what a plain trainer would have pushed.
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

// One owner thread.  begin_pull to push are called for one step after the other, in this order; the calls that take a
// DenseStep, for each of several.
class DenseLink {
 public:
  // options.in_run is the trainer's run.  Throws as ShardLinks.
  DenseLink(Transport& transport, const RemoteOptions& options, std::vector<ParameterSpec> specs);

  // Asks for the weights of this step, unless that has been done.  It may be a guess: another one may follow.
  void begin_pull(uint64_t step);

  // True when finish_pull does not wait.
  bool pulled() const { return links_.failed() || pulls_.arrived(); }
  bool failed() const { return links_.failed(); }

  // views <- the weights of the last step that was asked for, and buffers for all gradients, also of the rows of `plans`,
  // whose weights the caller has.  Throws as ShardLinks::wait.
  void finish_pull(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views);

  // For several steps at a time, each with its weights and gradients: a DenseStep is one's from begin_pull, or from
  // prepare, to push.
  using DenseStep = RemotePulls;
  std::unique_ptr<DenseStep> make_step() { return std::make_unique<DenseStep>(links_, specs_, RowTypes()); }
  void begin_pull(DenseStep& step, uint64_t number) const;
  bool pulled(const DenseStep& step) const { return links_.failed() || step.arrived(); }
  void finish_pull(DenseStep& step, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) const {
    step.finish_last(plans, views);
  }

  // views <- buffers for all gradients, without a pull: the caller has all weights.
  void prepare(DenseStep& step, std::span<const KeyPlan> plans,
               std::vector<ParameterView<float>>& views) const {
    step.prepare(plans, PullScope::kCompute, views);
  }
  void push(DenseStep& step, uint64_t number, std::span<const ParameterView<float>> views,
            std::function<void()> on_held);

  // The buffers of the gradients, of which a message may be made.
  const GradientBuffers& gradients() const { return pulls_.gradients(); }

  // Sends the gradients of this step.  `on_held` is called when the servers hold all of them, in here or by the
  // loop: from then on the step needs this process no more.  It is not called when a link fails.
  void push(std::span<const ParameterView<float>> views, std::function<void()> on_held) {
    push(pulls_, *asked_step_, views, std::move(on_held));
  }

  // Throws why failed() is true.
  void check() {
    links_.wait([] { return true; });
  }

 private:
  const std::vector<ParameterSpec> specs_;
  const std::vector<KeyPlan> no_plans_;  // one a parameter
  ShardLinks links_;
  RemotePulls pulls_;
  std::optional<uint64_t> asked_step_;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_DENSE_LINK_H_
