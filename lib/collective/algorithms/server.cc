// All-reduce through rank 0, which is the server of the others: all ranks send it their numbers, it adds them
// in rank order, and it sends the sum to all.  It is the parameter server that FireCaffe (Iandola et al., CVPR
// 2016) compares with a reduction tree: the link of rank 0 carries the data of all others each way.
//
// Chunks follow one another, so that the sums of a chunk go out while later chunks come in.
#include "collective/algorithms/entries.h"

namespace ps {

namespace {

// For each chunk rank 0 waits for the others in rank order, which is the order of the sum, and sends them
// the sum.
void serve_others(Exchange& exchange, Elements data) {
  const Chunks chunks(data);
  for (size_t c = 0; c < chunks.num(); ++c) {
    for (int from = 1; from < exchange.size(); ++from) add_received_chunk(exchange, from, chunks.at(c));
    for (int to = 1; to < exchange.size(); ++to) exchange.send(to, chunks.at(c).bytes());
  }
}

// The sum of a chunk comes back only after rank 0 has received the chunk, and may then overwrite it.
void run_server(Exchange& exchange, Elements data) {
  exchange.rank() == 0 ? serve_others(exchange, data) : send_and_receive_sums(exchange, 0, data);
}

double most_sent_server(double data_bytes, int size) {
  return (size - 1) * data_bytes;
}

}  // namespace

constexpr AllReduceAlgorithm kServerAllReduce = {
    .name = "server",
    .help = "rank 0 adds the data of all in rank order, as a server, and sends the sum to all",
    .number = 6,
    .in_rank_order = true,
    .run = run_server,
    .most_sent = most_sent_server,
};

}  // namespace ps
