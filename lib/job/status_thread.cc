#include "job/status_thread.h"

namespace ps {

StatusThread::StatusThread(const Address& address, const Credentials& credentials,
                           const HandshakeOptions& handshakes, const StatusFacts& facts,
                           std::vector<const StatusBoard*> boards)
    : transport_(*network_, credentials, handshakes),
      service_(network_->loop(), facts, std::move(boards)),
      server_(transport_, address, HttpOptions(),
              [this](const HttpRequest& request) { return service_.answer(request); }),
      thread_([this] { network_->loop().run(); }) {}

StatusThread::~StatusThread() {
  network_->loop().stop();
  thread_.join();
}

}  // namespace ps
