// The entries of the catalogue of all-reduce algorithms, and what several of them share.  Used by the files
// of this folder, and by communicators, whose other collectives are halves of these.
#ifndef PS_COLLECTIVE_ALGORITHMS_ENTRIES_H_
#define PS_COLLECTIVE_ALGORITHMS_ENTRIES_H_

#include <span>
#include <vector>

#include "collective/algorithm.h"
#include "collective/parts.h"

namespace ps {

extern const AllReduceAlgorithm kDirectAllReduce;
extern const AllReduceAlgorithm kChainAllReduce;
extern const AllReduceAlgorithm kRingAllReduce;
extern const AllReduceAlgorithm kHalvingDoublingAllReduce;
extern const AllReduceAlgorithm kTreeAllReduce;

// One chunk from a rank, over what is there, or added to that.
void receive_chunk(Exchange& exchange, int from, Elements chunk);
void add_received_chunk(Exchange& exchange, int from, Elements chunk);

// The same for all chunks of a part, and the other side.
void send_chunks(Exchange& exchange, int to, Elements part);
void receive_chunks(Exchange& exchange, int from, Elements part);
void add_received_chunks(Exchange& exchange, int from, Elements part);

// Part r of `data` becomes, on rank r, the sum over the ranks in rank order; the other parts stay.  The parts
// are one for each rank.
void reduce_scatter_directly(Exchange& exchange, Elements data, std::span<const ElementRange> parts);

// Part r of `data` comes, on all ranks, from rank r.
void all_gather_directly(Exchange& exchange, Elements data, std::span<const ElementRange> parts);

// The binomial tree of `size` nodes with node 0 as its root: the parent of node v > 0 is v without its lowest
// bit, and its children are v + 1, v + 2, v + 4, ... below that bit.
int tree_parent(int node);
std::vector<int> tree_children(int node, int size);

// `data` comes, on all ranks, from rank `root`, along a binomial tree.
void broadcast_by_tree(Exchange& exchange, Elements data, int root);

}  // namespace ps

#endif  // PS_COLLECTIVE_ALGORITHMS_ENTRIES_H_
