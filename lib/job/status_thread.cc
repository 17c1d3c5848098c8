#include "job/status_thread.h"
#include "base/start_thread.h"

#include <exception>

namespace ps {

StatusThread::StatusThread(const Address& address, const Credentials& credentials,
                           const HandshakeOptions& handshakes, const StatusFacts& facts,
                           std::vector<const StatusBoard*> boards)
    : transport_(*network_, credentials, handshakes),
      service_(network_->loop(), facts, std::move(boards)),
      server_(transport_, address, HttpOptions(),
              [this](const HttpRequest& request) { return service_.answer(request); }),
      thread_(start_thread([this] { work(); })) {}

// An exception, most likely for want of memory, ends the answer in which it was thrown; the pages go on.  The deadline of
// its connection ends that one.
void StatusThread::work() {
  for (;;) {
    try {
      return network_->loop().run();
    } catch (const std::exception&) {
      continue;
    }
  }
}

StatusThread::~StatusThread() {
  network_->loop().stop();
  thread_.join();
}

}  // namespace ps
