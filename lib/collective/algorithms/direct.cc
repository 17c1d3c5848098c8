// All-reduce by direct exchange: a reduce-scatter and an all-gather in which every rank exchanges messages
// with every other.
//
// Rank r owns part r.  All ranks send their part r to rank r, which adds them in rank order and sends the sum
// to all.  Each rank sends 2 (p - 1) / p of the data, as with a ring, but in two rounds instead of 2 (p - 1).
//
// Small data take one round (collective/parts.h): each rank sends all of its data to all others, and adds
// everything in rank order, with the same bits.
#include <algorithm>

#include "collective/algorithms/entries.h"

namespace ps {

namespace {

// Calls `send` for every other rank.  Each rank begins with another one, so that no rank is sent to by all
// others at once.
template <class Send>
void send_to_others(const Exchange& exchange, Send&& send) {
  for (int i = 1; i < exchange.size(); ++i) send((exchange.rank() + i) % exchange.size());
}

// Adds a chunk of every other rank to `own` in rank order.  The chunks of lower ranks are added up in a
// buffer first, and then to `own`, since a sum of two has the same bits in either order.
void sum_chunk(Exchange& exchange, Elements own) {
  Buffer below;
  for (int from = 0; from < exchange.rank(); ++from) {
    Buffer got = exchange.receive(from, own.size_bytes());
    if (from == 0) {
      below = std::move(got);
    } else {
      add_elements(own.type(), below.bytes(), got.bytes());
    }
  }
  if (exchange.rank() > 0) add_elements(own, below.bytes());
  for (int from = exchange.rank() + 1; from < exchange.size(); ++from) {
    add_received_chunk(exchange, from, own);
  }
}

// Sends chunk c of every part before chunk c + 1 of any, so that all owners can begin at the same time.
void send_contributions(Exchange& exchange, Elements data, std::span<const ElementRange> parts) {
  auto part = [&](int rank) {
    const ElementRange& range = parts[static_cast<size_t>(rank)];
    return Chunks(data.part(range.begin, range.count()));
  };
  size_t most = 0;
  for (int rank = 0; rank < exchange.size(); ++rank) most = std::max(most, part(rank).num());
  for (size_t c = 0; c < most; ++c) {
    send_to_others(exchange, [&](int to) {
      if (c < part(to).num()) exchange.send(to, part(to).at(c).bytes());
    });
  }
}

Elements part_of(Elements data, const ElementRange& range) {
  return data.part(range.begin, range.count());
}

void receive_other_parts(Exchange& exchange, Elements data, std::span<const ElementRange> parts) {
  send_to_others(exchange, [&](int from) {
    receive_chunks(exchange, from, part_of(data, parts[static_cast<size_t>(from)]));
  });
}

// Sends all data to all others, and adds everything.  The own numbers change in place after flush, when the
// system has the bytes that were sent.
void reduce_in_one_round(Exchange& exchange, Elements data) {
  send_to_others(exchange, [&](int to) { exchange.send(to, data.bytes()); });
  exchange.flush();
  sum_chunk(exchange, data);
}

void run_direct(Exchange& exchange, Elements data) {
  if (data.count() == 0) return;
  if (direct_takes_one_round(data.size_bytes(), exchange.size())) return reduce_in_one_round(exchange, data);
  const std::vector<ElementRange> parts = even_parts(data.count(), exchange.size());
  send_contributions(exchange, data, parts);
  const Chunks own(part_of(data, parts[static_cast<size_t>(exchange.rank())]));
  // The sum of a chunk goes out before the next chunk is added, so that others need not wait for the whole
  // part.
  for (size_t c = 0; c < own.num(); ++c) {
    sum_chunk(exchange, own.at(c));
    send_to_others(exchange, [&](int to) { exchange.send(to, own.at(c).bytes()); });
  }
  receive_other_parts(exchange, data, parts);
}

double most_sent_direct(double data_bytes, int size) {
  const double others = size - 1;
  const bool one_round = direct_takes_one_round(static_cast<size_t>(data_bytes), size);
  return one_round ? others * data_bytes : 2 * others / size * data_bytes;
}

}  // namespace

void reduce_scatter_directly(Exchange& exchange, Elements data, std::span<const ElementRange> parts) {
  send_contributions(exchange, data, parts);
  const Chunks own(part_of(data, parts[static_cast<size_t>(exchange.rank())]));
  for (size_t c = 0; c < own.num(); ++c) sum_chunk(exchange, own.at(c));
}

void all_gather_directly(Exchange& exchange, Elements data, std::span<const ElementRange> parts) {
  const Elements own = part_of(data, parts[static_cast<size_t>(exchange.rank())]);
  send_to_others(exchange, [&](int to) { send_chunks(exchange, to, own); });
  receive_other_parts(exchange, data, parts);
}

constexpr AllReduceAlgorithm kDirectAllReduce = {
    .name = "direct",
    .help = "the owner of a part adds it in rank order and sends it to all",
    .number = 1,
    .in_rank_order = true,
    .run = run_direct,
    .most_sent = most_sent_direct,
};

}  // namespace ps
