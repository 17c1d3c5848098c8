// All-reduce by recursive halving and doubling (Thakur, Rabenseifner and Gropp, IJHPCA 2005): log2 p steps in
// which two ranks exchange halves of the data that they still have to sum, followed by the same steps in
// reverse.
//
// If there are e ranks more than a power of two, the first 2 e ranks begin in pairs: the odd rank sends all
// its data to the even rank, and receives the sum at the end.
#include <bit>
#include <vector>

#include "collective/algorithms/entries.h"

namespace ps {

namespace {

// The numbering of the ranks that take part in the steps: nodes from 0 to 2^k - 1, each of which stands for a
// rank.
struct Nodes {
  explicit Nodes(int size)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))), pairs(size - count) {}

  bool paired(int rank) const { return rank < 2 * pairs; }
  int node_of(int rank) const { return paired(rank) ? rank / 2 : rank - pairs; }
  int rank_of(int node) const { return node < pairs ? 2 * node : node + pairs; }

  int count, pairs;
};

// The result of a halving step: the half that the rank keeps, and the half that it has sent.
struct Step {
  int partner;
  ElementRange kept, given;
};

// Halves the range of each rank log2 p times.  In each step a rank gives one half to its partner and adds the
// partner's numbers to the half that it keeps.  Returns the steps, which run_halving_doubling reverses.
std::vector<Step> halve(Exchange& exchange, Elements data, const Nodes& nodes) {
  const int node = nodes.node_of(exchange.rank());
  std::vector<Step> steps;
  ElementRange range{0, data.count()};
  for (int bit = nodes.count / 2; bit > 0; bit /= 2) {
    const size_t middle = range.begin + range.count() / 2;
    const ElementRange low{range.begin, middle}, high{middle, range.end};
    const bool keeps_low = (node & bit) == 0;
    const Step step{nodes.rank_of(node ^ bit), keeps_low ? low : high, keeps_low ? high : low};
    send_chunks(exchange, step.partner, data.part(step.given.begin, step.given.count()));
    add_received_chunks(exchange, step.partner, data.part(step.kept.begin, step.kept.count()));
    steps.push_back(step);
    range = step.kept;
  }
  return steps;
}

// The way back takes the steps in reverse: the half that a rank kept is complete by then and goes to the
// partner, whose half comes in place of the one that was given away.
void run_halving_doubling(Exchange& exchange, Elements data) {
  const Nodes nodes(exchange.size());
  const int rank = exchange.rank();
  if (nodes.paired(rank) && rank % 2 == 1) {
    send_chunks(exchange, rank - 1, data);
    return receive_chunks(exchange, rank - 1, data);
  }
  if (nodes.paired(rank)) add_received_chunks(exchange, rank + 1, data);
  std::vector<Step> steps = halve(exchange, data, nodes);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    send_chunks(exchange, step->partner, data.part(step->kept.begin, step->kept.count()));
    receive_chunks(exchange, step->partner, data.part(step->given.begin, step->given.count()));
  }
  if (nodes.paired(rank)) send_chunks(exchange, rank + 1, data);
}

double most_sent_halving_doubling(double data_bytes, int size) {
  const Nodes nodes(size);
  const double halves = 2.0 * (nodes.count - 1) / nodes.count * data_bytes;
  return nodes.pairs > 0 ? halves + data_bytes : halves;
}

}  // namespace

constexpr AllReduceAlgorithm kHalvingDoublingAllReduce = {
    .name = "halving_doubling",
    .help = "pairs of ranks sum halves of halves, and put them together again",
    .number = 4,
    .in_rank_order = false,
    .run = run_halving_doubling,
    .most_sent = most_sent_halving_doubling,
};

}  // namespace ps
