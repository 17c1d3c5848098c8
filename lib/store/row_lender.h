// RowLender and RowBorrower: a store lends the rows of sparse parameters to a cache, which trains them in the memory of
// a device.  LocalStore and RemoteLender (lib/ps/client) lend, RowCache (lib/device) borrows; LocalStore lends dense
// parameters too, to DenseOnDevice.
//
// The lender keeps all rows, of which the borrower has copies, some of them further on.  A push to the lender begins
// the step of a parameter that is lent, and leaves it to the borrower to apply it to rows.
#ifndef PS_STORE_ROW_LENDER_H_
#define PS_STORE_ROW_LENDER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/table_layout.h"
#include "optim/optimizer.h"
#include "table/row_block.h"

namespace ps {

// Called by the lender in its owner thread.
class RowBorrower {
 public:
  virtual ~RowBorrower() = default;

  // Puts all rows that have changed, and keeps its copies.
  virtual void put_back() = 0;

  // The same, and then has no copies.
  virtual void return_all() = 0;

  // Returns those of the keys, in their order, of which it has no row.  One that has borrowed a dense parameter is not
  // asked.
  virtual std::vector<uint64_t> missing(std::span<const uint64_t> keys) {
    return (void)keys, std::vector<uint64_t>();
  }
};

// One owner thread.  A parameter is named by its index.
class RowLender {
 public:
  virtual ~RowLender() = default;

  // From now on pulls to train set no rows of the parameter, which must be sparse and have no row policy, and
  // pushes do not update them.  Before rows are read, saved or set here, the borrower puts back what it has changed.
  // It must outlive all use of the lender.
  virtual void lend_rows(int parameter, RowBorrower& borrower) = 0;

  virtual TableLayout layout(int parameter) const = 0;
  virtual const Optimizer<float>& optimizer(int parameter) const = 0;

  // The factor of the gradients of the last push: of means, and of clipping by norm.
  virtual float last_scale(int parameter) const = 0;

  // rows [keys, layout.values()] <- the rows as a pull to train has them: made if they are missing, and up to date with
  // all steps begun.  Keys are distinct, in any order.
  virtual void fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) = 0;

  // fetch_stored takes rows that are there, as they lie, of keys that ascend; put_rows sets them.
  virtual void fetch_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) = 0;
  virtual void put_rows(int parameter, const RowBlock& rows) = 0;

  // All borrowers have applied the step of the last push.
  virtual void end_step() {}

  // For a borrower that takes rows of the next batch while the present one is computed, elsewhere.  next_has_come returns
  // true when all rows have come that were asked for ahead of it.  take_stored takes those of the keys, which ascend,
  // that have come, as they lie.
  virtual bool next_has_come() const { return false; }
  virtual void take_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) {
    (void)parameter, (void)keys;
    rows.clear();
  }

  // Handles what comes from others until done() is true, which is asked after each event, or until it can go on no more:
  // then the next call that waits throws.  wake, which any thread may call, is such an event.
  virtual void work_until(const std::function<bool()>& done) { (void)done; }
  virtual void wake() {}

  // Seconds that requests for rows were on their way, all of them together; and of these, waiting for rows.
  virtual double fetch_seconds() const { return 0; }
  virtual double waited_seconds() const { return 0; }
};

}  // namespace ps

#endif  // PS_STORE_ROW_LENDER_H_
