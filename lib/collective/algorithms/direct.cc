// All-reduce by direct exchange: a reduce-scatter and an all-gather in which every rank exchanges messages
// with every other.
//
// Rank r owns part r.  All ranks send their part r to rank r, which adds them in rank order and sends the sum
// to all.  Each rank sends 2 (p - 1) / p of the data, as with a ring, but in two rounds instead of 2 (p - 1).
//
// The rounds go on at the same time: a rank sends an owner few chunks ahead of their sums (even_window.h), so that
// queues on links stay short.  Contributions and sums then come from a rank in an order that depends on the speed of all,
// and marks tell them apart.
//
// Small data take one round (collective/parts.h): each rank sends all of its data to all others, and adds
// everything in rank order, with the same bits.
#include <algorithm>
#include <deque>
#include <utility>

#include "collective/algorithms/entries.h"
#include "collective/algorithms/even_window.h"

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

// The two rounds of one rank in one all-reduce.  One owner thread, the exchange's; the exchange and the data outlive it.
//
// Every message is taken as soon as it comes, whether a contribution that is not due in rank order yet or a sum.  So no
// sum waits behind a contribution, and ranks whose windows are full cannot wait for each other in a circle: the owner of
// a chunk has all contributions to it once every rank has the sums before it, since a window lets two chunks pass.
class TwoRounds {
 public:
  TwoRounds(Exchange& exchange, Elements data)
      : exchange_(exchange),
        own_(rank_part(exchange, data, exchange.rank())),
        window_(static_cast<size_t>(exchange.size() - 1), SendWindow::least(exchange)) {
    for (int rank = 0; rank < exchange.size(); ++rank) {
      peers_.push_back({.part = Chunks(rank_part(exchange, data, rank)), .waiting = {}});
    }
  }

  // The first loop sends chunk c of every part before chunk c + 1 of any, so that all owners can begin at the same time.
  void run() {
    for (bool any = true; any;) {
      any = false;
      send_to_others(exchange_, [&](int to) {
        if (!may_send(to)) return;
        send_contribution(to);
        any = true;
      });
    }
    send_to_others(exchange_, [&](int from) {
      if (owes(from)) owing_.push_back(from);
    });
    while (!owing_.empty()) {
      const int from = exchange_.await(owing_);
      take_message(from);
      if (!owes(from)) std::erase(owing_, from);
    }
  }

 private:
  // Another rank: it owns `part`, of which chunks [0, sent) went to it and the sums of [0, summed) have come.  It has
  // contributed to chunks [0, contributed) of this rank's part; the contributions that cannot be added yet wait, the
  // earliest first.
  struct Peer {
    Chunks part;
    size_t sent = 0, summed = 0, contributed = 0;
    std::deque<Buffer> waiting;
  };

  static Elements rank_part(const Exchange& exchange, Elements data, int rank) {
    return part_of(data, even_part(data.count(), exchange.size(), rank));
  }

  Peer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }

  bool owes(int rank) {
    return peer(rank).summed < peer(rank).part.num() || peer(rank).contributed < own_.num();
  }

  // The index of a rank among the others.
  size_t way(int rank) const { return static_cast<size_t>(rank < exchange_.rank() ? rank : rank - 1); }

  bool may_send(int to) { return peer(to).sent < peer(to).part.num() && window_.open(way(to)); }

  void send_contribution(int to) {
    Peer& owner = peer(to);
    exchange_.send_marked(to, owner.part.at(owner.sent++).bytes(), MessageMark::kContribution);
    window_.on_sent(way(to), exchange_.now());
  }

  // A message that is not due is refused by receive_marked, which then expects the other mark.
  void take_message(int from) {
    const bool sum_is_due = peer(from).summed < peer(from).sent;
    const bool is_sum = exchange_.next_mark(from) == MessageMark::kSum;
    if (sum_is_due && (is_sum || peer(from).contributed == own_.num())) return take_sum(from);
    take_contribution(from);
    add_contributions();
  }

  // The sum takes the place of the contribution, which its owner has received.
  void take_sum(int from) {
    Peer& owner = peer(from);
    const Elements chunk = owner.part.at(owner.summed++);
    std::ranges::copy(exchange_.receive_marked(from, chunk.size_bytes(), MessageMark::kSum).bytes(),
                      chunk.bytes().begin());
    window_.on_sum(way(from), exchange_.now());
    while (may_send(from)) send_contribution(from);
  }

  void take_contribution(int from) {
    const size_t bytes = own_.at(peer(from).contributed++).size_bytes();
    peer(from).waiting.push_back(exchange_.receive_marked(from, bytes, MessageMark::kContribution));
  }

  // Adds what waits, as far as rank order allows: `adder_` is the rank whose numbers come next in chunk `added_`.  The
  // chunks of lower ranks are added up in below_, as in sum_chunk.
  void add_contributions() {
    while (added_ < own_.num()) {
      const Elements chunk = own_.at(added_);
      if (adder_ == exchange_.rank()) {
        if (adder_ > 0) add_elements(chunk, below_.bytes());
      } else if (std::deque<Buffer>& waiting = peer(adder_).waiting; waiting.empty()) {
        return;
      } else {
        add_contribution(chunk, std::move(waiting.front()));
        waiting.pop_front();
      }
      if (++adder_ == exchange_.size()) finish_chunk(chunk);
    }
  }

  void add_contribution(Elements chunk, Buffer contribution) {
    if (adder_ > exchange_.rank()) {
      add_elements(chunk, contribution.bytes());
    } else if (adder_ == 0) {
      below_ = std::move(contribution);
    } else {
      add_elements(chunk.type(), below_.bytes(), contribution.bytes());
    }
  }

  // The sum of a chunk goes out before the next chunk is added, so that others need not wait for the whole part.
  void finish_chunk(Elements chunk) {
    send_to_others(exchange_, [&](int to) { exchange_.send_marked(to, chunk.bytes(), MessageMark::kSum); });
    adder_ = 0;
    ++added_;
  }

  Exchange& exchange_;
  const Chunks own_;
  EvenWindow window_;
  std::deque<Peer> peers_;  // by rank; of the own one only the part is used
  std::vector<int> owing_;  // ranks of which more messages are due
  Buffer below_;
  size_t added_ = 0;  // chunks [0, added_) of the own part have their sums
  int adder_ = 0;
};

void run_direct(Exchange& exchange, Elements data) {
  if (data.count() == 0) return;
  if (direct_takes_one_round(data.size_bytes(), exchange.size())) return reduce_in_one_round(exchange, data);
  TwoRounds(exchange, data).run();
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
