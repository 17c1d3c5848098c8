// All-reduce along a binomial tree (FireCaffe: Iandola et al., CVPR 2016): sums go up to rank 0 and the whole
// sum goes down again.
//
// A node adds its own numbers and those of its children, the nearest child first.  Chunks follow one another, so that
// all links are busy at the same time, up and down.
#include <array>
#include <bit>

#include "collective/algorithms/entries.h"
#include "collective/algorithms/send_window.h"

namespace ps {

namespace {

void send_down(Exchange& exchange, const std::vector<int>& children, Elements chunk) {
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    exchange.send(*child, chunk.bytes());
  }
}

// The loop of rank 0, at which sums are complete.
void run_root(Exchange& exchange, const std::vector<int>& children, const Chunks& chunks) {
  for (size_t c = 0; c < chunks.num(); ++c) {
    for (int child : children) add_received_chunk(exchange, child, chunks.at(c));
    send_down(exchange, children, chunks.at(c));
  }
}

// The loop of the other ranks.  Chunks [0, added) have been passed up, of the next one `child` children
// have come, and chunks [0, done) have come back.  A complete chunk goes down while later chunks still go
// up, as many ahead as the window allows.
void run_below(Exchange& exchange, const std::vector<int>& children, const Chunks& chunks) {
  const int parent = tree_parent(exchange.rank());
  SendWindow window(exchange);
  size_t added = 0, child = 0, done = 0;
  while (done < chunks.num()) {
    const bool whole = child == children.size();
    if (added < chunks.num() && whole && window.open()) {
      exchange.send(parent, chunks.at(added++).bytes());
      window.on_sent(exchange.now());
      child = 0;
      continue;
    }
    int from = parent;
    if (added < chunks.num() && !whole) {
      const std::array<int, 2> both = {children[child], parent};
      from = exchange.await(both);
    }
    if (from == parent) {
      receive_chunk(exchange, parent, chunks.at(done));
      window.on_sum(exchange.now());
      send_down(exchange, children, chunks.at(done++));
    } else {
      add_received_chunk(exchange, from, chunks.at(added));
      ++child;
    }
  }
}

void run_tree(Exchange& exchange, Elements data) {
  const std::vector<int> children = tree_children(exchange.rank(), exchange.size());
  const Chunks chunks(data);
  exchange.rank() == 0 ? run_root(exchange, children, chunks) : run_below(exchange, children, chunks);
}

// Rank 0 has as many children as there are levels; a node below has one fewer, and sends to its parent too.
double most_sent_tree(double data_bytes, int size) {
  return std::bit_width(static_cast<unsigned>(size - 1)) * data_bytes;
}

}  // namespace

// A parent's number is that of the child without its lowest set bit.
int tree_parent(int node) {
  return node & (node - 1);
}

std::vector<int> tree_children(int node, int size) {
  // Children add a bit below the lowest one of the node; the root, which has none, may add any.
  const int lowest = node == 0 ? size : node & -node;
  std::vector<int> children;
  for (int bit = 1; bit < lowest && node + bit < size; bit *= 2) children.push_back(node + bit);
  return children;
}

// Ranks are numbered from `root` on, so that it is node 0 of the tree.  A chunk goes on while the next one
// comes.
void broadcast_by_tree(Exchange& exchange, Elements data, int root) {
  const int size = exchange.size();
  const int node = (exchange.rank() - root + size) % size;
  std::vector<int> children = tree_children(node, size);
  for (int& child : children) child = (child + root) % size;
  const Chunks chunks(data);
  for (size_t c = 0; c < chunks.num(); ++c) {
    if (node != 0) receive_chunk(exchange, (tree_parent(node) + root) % size, chunks.at(c));
    send_down(exchange, children, chunks.at(c));
  }
}

constexpr AllReduceAlgorithm kTreeAllReduce = {
    .name = "tree",
    .help = "sums go up a binomial tree to rank 0, and down again",
    .number = 5,
    .in_rank_order = false,
    .run = run_tree,
    .most_sent = most_sent_tree,
};

}  // namespace ps
