#include "collective/algorithms/entries.h"

#include <algorithm>

namespace ps {

void send_chunks(Exchange& exchange, int to, Elements part) {
  const Chunks chunks(part);
  for (size_t c = 0; c < chunks.num(); ++c) exchange.send(to, chunks.at(c).bytes());
}

void receive_chunk(Exchange& exchange, int from, Elements chunk) {
  const Buffer got = exchange.receive(from, chunk.size_bytes());
  std::ranges::copy(got.bytes(), chunk.bytes().begin());
}

void add_received_chunk(Exchange& exchange, int from, Elements chunk) {
  add_elements(chunk, exchange.receive(from, chunk.size_bytes()).bytes());
}

void receive_chunks(Exchange& exchange, int from, Elements part) {
  const Chunks chunks(part);
  for (size_t c = 0; c < chunks.num(); ++c) receive_chunk(exchange, from, chunks.at(c));
}

void add_received_chunks(Exchange& exchange, int from, Elements part) {
  const Chunks chunks(part);
  for (size_t c = 0; c < chunks.num(); ++c) add_received_chunk(exchange, from, chunks.at(c));
}

}  // namespace ps
