#include "collective/algorithms/entries.h"

#include <algorithm>

#include "collective/algorithms/send_window.h"

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

// Chunks [0, sent) have been sent and the sums of chunks [0, done) have come back, over the chunks
// themselves: a sum shows that the peer has received its chunk, and so the bytes may change.  `window`
// bounds sent - done.
void send_and_receive_sums(Exchange& exchange, int to, Elements part) {
  const Chunks chunks(part);
  SendWindow window(exchange);
  size_t sent = 0;
  for (size_t done = 0; done < chunks.num(); ++done) {
    for (; sent < chunks.num() && window.open(); ++sent) {
      exchange.send(to, chunks.at(sent).bytes());
      window.on_sent(exchange.now());
    }
    receive_chunk(exchange, to, chunks.at(done));
    window.on_sum(exchange.now());
  }
}

}  // namespace ps
