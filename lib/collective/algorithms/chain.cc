// All-reduce along a chain: sums are passed from rank 0 upwards, where each rank adds its own numbers, and
// the complete sum is passed back down.
//
// Chunks follow one another, so that all links are busy at the same time: rank r handles messages from below
// and from above in the order in which they arrive.  The sum of a chunk is x0 + x1 + ... in rank order.
#include <array>

#include "collective/algorithms/entries.h"

namespace ps {

namespace {

// The loop of the highest rank, at which sums are complete.
void run_top(Exchange& exchange, const Chunks& chunks) {
  const int below = exchange.rank() - 1;
  for (size_t c = 0; c < chunks.num(); ++c) {
    add_received_chunk(exchange, below, chunks.at(c));
    exchange.send(below, chunks.at(c).bytes());
  }
}

// The loop of the ranks between the lowest and the highest.  Chunks [0, added) have been passed up, and chunks
// [0, done) have come back.
void run_middle(Exchange& exchange, const Chunks& chunks) {
  const int below = exchange.rank() - 1, above = exchange.rank() + 1;
  size_t added = 0, done = 0;
  while (done < chunks.num()) {
    const std::array<int, 2> both = {below, above};
    const int from = added < chunks.num() ? exchange.await(both) : above;
    if (from == below) {
      add_received_chunk(exchange, below, chunks.at(added));
      exchange.send(above, chunks.at(added++).bytes());
    } else {
      receive_chunk(exchange, above, chunks.at(done));
      exchange.send(below, chunks.at(done++).bytes());
    }
  }
}

void run_chain(Exchange& exchange, Elements data) {
  const Chunks chunks(data);
  if (exchange.rank() == exchange.size() - 1) return run_top(exchange, chunks);
  exchange.rank() == 0 ? send_and_receive_sums(exchange, 1, data) : run_middle(exchange, chunks);
}

double most_sent_chain(double data_bytes, int size) {
  return size == 2 ? data_bytes : 2 * data_bytes;
}

}  // namespace

constexpr AllReduceAlgorithm kChainAllReduce = {
    .name = "chain",
    .help = "sums go up from rank to rank, in rank order, and come back down",
    .number = 2,
    .in_rank_order = true,
    .run = run_chain,
    .most_sent = most_sent_chain,
};

}  // namespace ps
