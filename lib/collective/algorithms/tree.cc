// All-reduce along a binomial tree (FireCaffe: Iandola et al., CVPR 2016): sums go up to rank 0 and the whole
// sum goes down again.
//
// A node adds its own numbers and those of its children, the nearest child first.
#include <bit>

#include "collective/algorithms/entries.h"

namespace ps {

namespace {

void send_down(Exchange& exchange, const std::vector<int>& children, Elements chunk) {
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    exchange.send(*child, chunk.bytes());
  }
}

// Works chunk by chunk, so that all levels of the tree are busy at the same time.
void run_tree(Exchange& exchange, Elements data) {
  const int rank = exchange.rank();
  const std::vector<int> children = tree_children(rank, exchange.size());
  const Chunks chunks(data);
  for (size_t c = 0; c < chunks.num(); ++c) {
    for (int child : children) add_received_chunk(exchange, child, chunks.at(c));
    if (rank == 0) {
      send_down(exchange, children, chunks.at(c));
    } else {
      exchange.send(tree_parent(rank), chunks.at(c).bytes());
    }
  }
  if (rank != 0) {
    for (size_t c = 0; c < chunks.num(); ++c) {
      receive_chunk(exchange, tree_parent(rank), chunks.at(c));
      send_down(exchange, children, chunks.at(c));
    }
  }
}

// Rank 0 has as many children as there are levels; a node below has one fewer, and sends to its parent too.
double most_sent_tree(double data_bytes, int size) {
  return std::bit_width(static_cast<unsigned>(size - 1)) * data_bytes;
}

}  // namespace

int tree_parent(int node) {
  return node & (node - 1);
}

std::vector<int> tree_children(int node, int size) {
  const int lowest = node == 0 ? size : node & -node;
  std::vector<int> children;
  for (int bit = 1; bit < lowest && node + bit < size; bit *= 2) children.push_back(node + bit);
  return children;
}

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
