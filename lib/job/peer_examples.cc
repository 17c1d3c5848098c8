#include "job/peer_examples.h"

#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace ps {

PeerExamples::PeerExamples(const PeerOptions& peers, const SecurityOptions& security,
                           CredentialRenewal* renewal, Communicator& met)
    : transport_(make_secure_network(peer_credentials(security))),
      renewal_(watch_credentials(renewal, *transport_, [security] { return peer_credentials(security); })),
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

// The empty function that is posted wakes the loop, which then sees that there is work.
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

// Waits on the loop, not on changed_, so that connections are served all the time: for an exchange, or for
// the end.  The lock is not held while bytes travel.  An error is kept in error_ and rethrown by exchange;
// failed_ tells that it came from the connections and not from stop().  The loop goes on after an error, as
// the destructor still has to end it.
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
