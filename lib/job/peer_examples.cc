#include "job/peer_examples.h"

#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace ps {

PeerExamples::PeerExamples(const PeerOptions& peers, const SecurityOptions& security, Communicator& met)
    : transport_(make_secure_network(peer_credentials(security))),
      communicator_(meet_again(*transport_, peers, met, [this] { return stopped_.load(); })) {
  thread_ = start_thread([this] { work(); });
}

PeerExamples::~PeerExamples() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  transport_->loop().post([] {});
  thread_.join();
}

std::vector<std::string> PeerExamples::exchange(std::vector<std::string> bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  bytes_ = std::move(bytes);
  asked_ = true;
  done_ = false;
  transport_->loop().post([] {});
  changed_.wait(lock, [this] { return done_; });
  if (error_) std::rethrow_exception(error_);
  return std::move(bytes_);
}

void PeerExamples::stop() {
  stopped_ = true;
  transport_->loop().post([] {});
}

bool PeerExamples::has_work() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return asked_ || closing_;
}

// Takes the bytes to be sent.  Returns false if the thread is to end.
bool PeerExamples::begin_exchange(std::vector<std::string>& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_ = false;
  bytes = std::move(bytes_);
  return !closing_;
}

void PeerExamples::work() {
  std::vector<std::string> bytes;
  for (;;) {
    std::exception_ptr error;
    try {
      transport_->loop().run_until([this] { return has_work(); }, kNever);
      if (!begin_exchange(bytes)) return;
      if (stopped_) fail(Code::kUnavailable, "the exchange of examples was ended");
      bytes = communicator_->all_to_all(std::move(bytes));
      bytes_sent_ = bytes_sent_to_all(*communicator_);
    } catch (...) {
      error = std::current_exception();
      failed_ = !stopped_;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_ = std::move(bytes);
    error_ = error;
    done_ = true;
    changed_.notify_all();
  }
}

}  // namespace ps
