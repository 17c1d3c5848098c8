// All-reduce around a ring: p - 1 steps in which sums of parts are passed to the next rank, which adds its
// own numbers, and p - 1 steps in which the complete sums are passed around.
//
// The sum of part q begins at rank q and ends at rank q - 1: x[q] + x[q + 1] + ... around the ring.
#include "collective/algorithms/entries.h"

namespace ps {

namespace {

void run_ring(Exchange& exchange, Elements data) {
  const int rank = exchange.rank(), size = exchange.size();
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  // Returns the part that rank - steps owns.
  auto part_behind = [&](int steps) {
    const ElementRange range = even_part(data.count(), size, (rank - steps + 2 * size) % size);
    return data.part(range.begin, range.count());
  };
  send_chunks(exchange, next, part_behind(0));
  // The last of these sums is complete; sending it is the first step of the second half.
  for (int step = 1; step < size; ++step) {
    const Chunks chunks(part_behind(step));
    for (size_t c = 0; c < chunks.num(); ++c) {
      add_received_chunk(exchange, previous, chunks.at(c));
      exchange.send(next, chunks.at(c).bytes());
    }
  }
  for (int step = 0; step < size - 1; ++step) {
    const Chunks chunks(part_behind(step));
    for (size_t c = 0; c < chunks.num(); ++c) {
      receive_chunk(exchange, previous, chunks.at(c));
      // The sum of the last part ended at the next rank, which therefore has it since the first half.
      if (step < size - 2) exchange.send(next, chunks.at(c).bytes());
    }
  }
}

double most_sent_ring(double data_bytes, int size) {
  return 2.0 * (size - 1) / size * data_bytes;
}

}  // namespace

constexpr AllReduceAlgorithm kRingAllReduce = {
    .name = "ring",
    .help = "sums of parts go around a ring twice",
    .number = 3,
    .in_rank_order = false,
    .run = run_ring,
    .most_sent = most_sent_ring,
};

}  // namespace ps
