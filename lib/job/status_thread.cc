#include "job/status_thread.h"

namespace ps {

StatusThread::StatusThread(const Address& address, const std::string& job, uint64_t memory_limit,
                           std::vector<const StatusBoard*> boards)
    : service_(network_->loop(), job, memory_limit, std::move(boards)),
      server_(*network_, address, HttpOptions(),
              [this](const HttpRequest& request) { return service_.answer(request); }),
      thread_([this] { network_->loop().run(); }) {}

StatusThread::~StatusThread() {
  network_->loop().stop();
  thread_.join();
}

}  // namespace ps
