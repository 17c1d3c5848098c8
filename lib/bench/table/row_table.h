// RowTable: rows by id, with one interface for SparseTable and for the maps that others use.  Used by the
// suite `table`.
#ifndef PS_BENCH_TABLE_ROW_TABLE_H_
#define PS_BENCH_TABLE_ROW_TABLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "math/device.h"
#include "math/key_plan.h"

namespace ps {

// The number of weights of a row, which has as many floats of optimizer state.
inline constexpr int kBenchWidth = 16;
inline constexpr double kBenchRowBytes = 2 * kBenchWidth * sizeof(float);

// AdaGrad with a gradient of 1 in every column: h += 1, w -= kBenchRate / sqrt(h + kBenchEpsilon).
inline constexpr float kBenchRate = 0.1f, kBenchEpsilon = 1e-6f;

// A table of rows, which begin as zeros.  One owner thread.
class RowTable {
 public:
  virtual ~RowTable() = default;

  // Adds rows for ids that are not there.
  virtual void insert(const KeyPlan& plan) = 0;

  // Finds the rows of ids that are there, and counts them.
  virtual uint64_t find(const KeyPlan& plan) = 0;

  // Returns the sum of all weights in the rows of ids that are there.
  virtual double sum(const KeyPlan& plan) = 0;

  // Makes a step of AdaGrad on the rows of ids that are there.
  virtual void update(const KeyPlan& plan) = 0;

  virtual uint64_t size() const = 0;

  // Returns the first weight of a row that is there.
  virtual float weight(uint64_t key) = 0;
};

// Makes an empty table.  Throws kUnavailable when its library was not installed at build time.
using MakeRowTable = std::function<std::unique_ptr<RowTable>(Device& device)>;

}  // namespace ps

#endif  // PS_BENCH_TABLE_ROW_TABLE_H_
