// Communicators between the threads of one process.  Used by tests; collective/net_communicator.h has those
// between processes.
#ifndef PS_TESTS_SUPPORT_THREAD_COMMUNICATOR_H_
#define PS_TESTS_SUPPORT_THREAD_COMMUNICATOR_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "collective/exchange_communicator.h"
#include "net/loop.h"

namespace ps {

struct ThreadCommunicatorOptions {
  int size = 1;
  std::string algorithm = kAutomatic;
  Duration timeout = std::chrono::seconds(60);  // time limit of a collective
};

// Makes a communicator for each rank; each is used by a thread of its own.  They share memory, and can be
// destroyed in any order.
std::vector<std::unique_ptr<ExchangeCommunicator>> make_thread_communicators(
    const ThreadCommunicatorOptions& options);

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_THREAD_COMMUNICATOR_H_
