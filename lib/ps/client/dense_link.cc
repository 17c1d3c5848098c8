#include "ps/client/dense_link.h"

#include <utility>

#include "base/hash.h"
#include "ps/client/row_message.h"

namespace ps {

DenseLink::DenseLink(Transport& transport, const RemoteOptions& options, std::vector<ParameterSpec> specs)
    : specs_(std::move(specs)),
      no_plans_(specs_.size()),
      links_(transport, options),
      pulls_(links_, specs_, RowTypes()) {
  // Shards identify the pulls of a rank by their numbers.  The numbers of this link begin far from those of the
  // trainer and of other links that pull for the same rank, in this process or another one.
  constexpr uint64_t kFar = uint64_t{1} << 63;
  constexpr int kRoom = 24;  // bits for the numbers of one link
  pulls_.number_from(kFar | (hash_key(options.link) >> (kRoom + 1) << kRoom));
}

void DenseLink::begin_pull(uint64_t step) {
  if (asked_step_ == step) return;
  pulls_.begin(no_plans_, {PullMode::kTrain, step, PullScope::kCompute});
  asked_step_ = step;
}

void DenseLink::finish_pull(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
  pulls_.finish_last(plans, views);
}

void DenseLink::begin_pull(DenseStep& step, uint64_t number) const {
  step.begin(no_plans_, {PullMode::kTrain, number, PullScope::kCompute, /*push_follows=*/false});
}

// The row slices of a push always travel with it.  They are short, since they are ranges. num_slices stays
// 0, since the trainer's process tells the shards how many messages the step has.
//
// `messages` counts the messages without an answer, and this call as one more, so that on_held is not
// called before all are sent.  The call takes its own count away at the end; without any messages, on_held
// is called there.
void DenseLink::push(DenseStep& step, uint64_t number, std::span<const ParameterView<float>> views,
                     std::function<void()> on_held) {
  struct Unheld {
    size_t messages;
    std::function<void()> on_held;

    void note_held() {
      if (--messages == 0) std::exchange(on_held, nullptr)();
    }
  };
  BatchRouter& router = step.router();
  auto begin = [&](const RoutedRows& routed) {
    return pushed_floats(specs_[routed.parameter], views[routed.parameter]);
  };
  const auto unheld = std::make_shared<Unheld>(Unheld{1, std::move(on_held)});
  for (size_t s = 0; s < links_.size(); ++s) {
    PushHeader header{.step = number, .num_slices = 0};
    for (const Bundle& bundle : router.bundles(s)) {
      ++unheld->messages;
      links_.request(s, Message::kPush,
                     make_row_message({specs_, router, links_.pool(), links_.cpu()},
                                      encode_push(header, bundle.num_row_slices(), bundle.push_slices()), s,
                                      bundle, {.begin = begin, .gradients = &step.gradients()}),
                     [unheld](const Frame&) { unheld->note_held(); });
      ++header.slice;
    }
  }
  unheld->note_held();
}

}  // namespace ps
