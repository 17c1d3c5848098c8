// LinkRequest: the configuration of a measurement over links.  Used by the measurements of bench/link.
#ifndef PS_BENCH_LINK_LINK_REQUEST_H_
#define PS_BENCH_LINK_LINK_REQUEST_H_

#include <string>
#include <vector>

#include "bench/link/model_shape.h"
#include "codec/dgc_options.h"

namespace ps {

struct LinkRequest {
  ModelShape model;
  int ranks = 2;
  double bits_per_second = 1e9;  // bandwidth of a link in each direction
  double compute_seconds = 0;    // compute of a step
  std::string link = "auto";     // one of link_choices()
  int most_runs = 5;
  double budget_seconds = 5;  // time for the runs of one kind of step

  // Encoding of the gradients that DGC packs, one that keeps the bits of values.  Only the suite `dgc` uses it.
  std::string encoding = DgcRule().encoding;

  // Only local SGD uses these.
  std::vector<int> periods = {};
  int batch = 1;  // number of examples of a trainer in a step

  // Only weak scaling uses these: names of all-reduce algorithms, or "dgc".
  std::vector<std::string> algorithms = {};
};

}  // namespace ps

#endif  // PS_BENCH_LINK_LINK_REQUEST_H_
