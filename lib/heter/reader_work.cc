#include "heter/reader_work.h"

#include <utility>

#include "base/current_error.h"
#include "base/error.h"
#include "base/wait_stopped.h"
#include "heter/ahead_work.h"
#include "heter/one_batch_work.h"

namespace ps {

ReaderWork::ReaderWork(const ComputeSetup& setup, const ReaderHello& hello, BufferPool& pool)
    : setup_(setup),
      hello_(hello),
      pool_(pool),
      network_(setup.model, schema_from_json(hello.schema), setup.seed),
      planners_(network_.make_planners(KeyOrder::kAscending)),
      computation_(setup.computation ? setup.computation(network_) : nullptr) {
  if (auto difference = first_difference(hello.job, setup.job)) {
    fail(Code::kUsage, "this compute trainer has another job: ", *difference);
  }
}

// An answer of kUnavailable would have the reader send the batch again and again to this process, which does not reach the
// servers.
void ReaderWork::advance() {
  try {
    work();
  } catch (const StateLost& lost) {
    fail_all(Error(kStateLost, lost.message()));
  } catch (const WaitStopped&) {
    throw;
  } catch (...) {
    const Error error = current_error();  // without memory, too: other readers' batches may find some
    fail_all(error.code() == Code::kUnavailable ? Error(kServersUnavailable, error.message()) : error);
  }
}

void ReaderWork::connect() {
  if (link_) return;
  RemoteOptions remote = setup_.remote(hello_);
  link_ = std::make_unique<DenseLink>(setup_.transport, remote, network_.parameters());
}

Payload ReaderWork::compute(std::span<const ParameterView<float>> views, const GradientBuffers& gradients) {
  auto keep = std::make_shared<const GradientBuffers>(gradients);
  if (computation_) {
    const double cost = computation_->run(prepared_, views);
    computation_->finish_gradients(prepared_, views, nullptr);
    return encode_result(cost, computation_->predictions(), prepared_, network_.parameters(), views, keep);
  }
  const double cost = network_.forward(prepared_, views, setup_.device);
  network_.backward();
  return encode_result(cost, network_.predictions(), prepared_, network_.parameters(), views, keep);
}

std::shared_ptr<ReaderWork> make_reader_work(const ComputeSetup& setup, const ReaderHello& hello,
                                             BufferPool& pool) {
  if (setup.ahead) return std::make_shared<AheadWork>(setup, hello, pool);
  return std::make_shared<OneBatchWork>(setup, hello, pool);
}

}  // namespace ps
