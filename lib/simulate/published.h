// Measurements that others have published, beside the predictions of the cost model.  Used by its tests and by
// ps-bench plan --published.
#ifndef PS_SIMULATE_PUBLISHED_H_
#define PS_SIMULATE_PUBLISHED_H_

#include <string>
#include <vector>

namespace ps {

struct PublishedFigure {
  std::string what;  // "NiN, 32 GPUs, batch 256"
  double published;
  double modelled;

  double error() const { return modelled / published - 1; }
};

struct PublishedTable {
  std::string name, unit, source;
  std::string model;  // how the cost model was set up, and which of its parameters were fitted
  double tolerance;   // largest error that is accepted
  std::vector<PublishedFigure> figures;
};

std::vector<PublishedTable> published_tables();

}  // namespace ps

#endif  // PS_SIMULATE_PUBLISHED_H_
