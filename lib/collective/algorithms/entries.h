// The entries of the catalogue of all-reduce algorithms, and their shared functions.  Used by the files of
// this folder, and by communicators, whose other collectives are halves of these algorithms.
#ifndef PS_COLLECTIVE_ALGORITHMS_ENTRIES_H_
#define PS_COLLECTIVE_ALGORITHMS_ENTRIES_H_

#include <span>
#include <vector>

#include "collective/algorithm.h"
#include "collective/parts.h"

namespace ps {

extern const AllReduceAlgorithm kDirectAllReduce;
extern const AllReduceAlgorithm kChainAllReduce;
extern const AllReduceAlgorithm kServerAllReduce;
extern const AllReduceAlgorithm kRingAllReduce;
extern const AllReduceAlgorithm kHalvingDoublingAllReduce;
extern const AllReduceAlgorithm kTreeAllReduce;

// Receives one chunk from a rank: receive_chunk overwrites `chunk`, add_received_chunk adds to it.
void receive_chunk(Exchange& exchange, int from, Elements chunk);
void add_received_chunk(Exchange& exchange, int from, Elements chunk);

// Send and receive all chunks of a part.
void send_chunks(Exchange& exchange, int to, Elements part);
void receive_chunks(Exchange& exchange, int from, Elements part);
void add_received_chunks(Exchange& exchange, int from, Elements part);

// Sends all chunks of a part to a rank that answers each with its sum, no more ahead of the answers than a SendWindow
// (collective/algorithms/send_window.h) allows, and overwrites them with their sums.
void send_and_receive_sums(Exchange& exchange, int to, Elements part);

// Sets part r of `data` on rank r to the sum over the ranks in rank order; the other parts stay unchanged.
// Each rank has one part.
void reduce_scatter_directly(Exchange& exchange, Elements data, std::span<const ElementRange> parts);

// Copies part r of `data` from rank r to all ranks.
void all_gather_directly(Exchange& exchange, Elements data, std::span<const ElementRange> parts);

// The binomial tree of `size` nodes with node 0 as its root: the parent of node v > 0 is v without its lowest
// bit, and its children are v + 1, v + 2, v + 4, ... below that bit.
int tree_parent(int node);
std::vector<int> tree_children(int node, int size);

// Copies `data` from rank `root` to all ranks along a binomial tree.
void broadcast_by_tree(Exchange& exchange, Elements data, int root);

}  // namespace ps

#endif  // PS_COLLECTIVE_ALGORITHMS_ENTRIES_H_
