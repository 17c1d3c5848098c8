#include "heter/reader_work.h"

#include <utility>

#include "base/current_error.h"
#include "base/error.h"
#include "base/wait_stopped.h"

namespace ps {

namespace {

// The gradients of an answer.  Their bytes are counted in the account until the answer is sent.
struct CountedGradients {
  CountedGradients(const GradientBuffers& all, std::shared_ptr<std::atomic<uint64_t>> account)
      : gradients(all), counted(std::move(account)) {
    for (const auto& buffer : gradients) bytes += buffer ? buffer->size() : 0;
    *counted += bytes;
  }
  ~CountedGradients() { *counted -= bytes; }
  CountedGradients(const CountedGradients&) = delete;
  CountedGradients& operator=(const CountedGradients&) = delete;

  const GradientBuffers gradients;
  const std::shared_ptr<std::atomic<uint64_t>> counted;
  uint64_t bytes = 0;
};

}  // namespace

void check_hello(const ReaderHello& hello, const ComputeSetup& setup) {
  if (auto difference = first_difference(hello.job, setup.job)) {
    fail(Code::kUsage, "this compute trainer has another job: ", *difference);
  }
  if (hello.rank >= hello.trainers) {
    fail(Code::kUsage, "rank ", hello.rank, " is not one of ", hello.trainers, " readers");
  }
}

ReaderWork::ReaderWork(const ComputeSetup& setup, const ReaderHello& hello, HeldBatches& held)
    : setup_(setup),
      hello_(hello),
      held_(held),
      network_(setup.model, schema_from_json(hello.schema), setup.seed),
      planners_(network_.make_planners(KeyOrder::kAscending)),
      computation_(setup.computation ? setup.computation(network_) : nullptr) {
  if (setup.model_device != nullptr) network_.prepare_for_devices();
}

// Turns errors into answers. kUnavailable becomes kServersUnavailable: on an answer of kUnavailable the reader
// would send the batch again and again to this process, which cannot reach the servers.
void ReaderWork::advance() {
  try {
    work();
  } catch (const StateLost& lost) {
    fail_all(Error(kStateLost, lost.message()));
  } catch (const WaitStopped&) {
    throw;
  } catch (...) {
    const Error error = current_error();  // also out of memory: later batches of other readers may find some
    fail_all(error.code() == Code::kUnavailable ? Error(kServersUnavailable, error.message()) : error);
  }
}

void ReaderWork::connect() {
  if (link_) return;
  RemoteOptions remote = setup_.remote(hello_);
  link_ = std::make_unique<DenseLink>(setup_.transport, remote, network_.parameters());
}

// A waiting batch is counted in held_ and no longer in the memory of connections, so that these can go on
// receiving.
Buffer ReaderWork::hold(Frame& frame) {
  const uint64_t size = frame.body.size(), held = held_.bytes();
  if (held > setup_.held_bytes || size > setup_.held_bytes - held) {
    fail(Code::kExhausted, "a batch of ", size, " bytes comes while batches and answers of ", held,
         " bytes wait: this compute trainer has room for ", setup_.held_bytes,
         "; try smaller batches, fewer of them ahead, or more compute trainers");
  }
  Buffer body = std::move(frame.body);
  held_.waiting.adopt(body);
  return body;
}

// `keep` shares the gradient buffers with the answer, which points into them, and counts their bytes until
// it is sent.
Payload ReaderWork::compute(std::span<const ParameterView<float>> views, const GradientBuffers& gradients) {
  auto keep = std::make_shared<const CountedGradients>(gradients, held_.answers);
  if (computation_) {
    computation_->run(prepared_, views);
    computation_->finish_gradients(prepared_, views, nullptr);
    return encode_result(computation_->figures(), prepared_, network_.parameters(), views, keep);
  }
  Device& device = setup_.model_device != nullptr ? *setup_.model_device : setup_.device;
  network_.forward(prepared_, views, device);
  network_.backward();
  return encode_result(network_.figures(), prepared_, network_.parameters(), views, keep);
}

}  // namespace ps
