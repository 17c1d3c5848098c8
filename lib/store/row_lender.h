// RowLender and RowBorrower: a store lends the rows of sparse parameters to a cache, which trains them in the
// memory of a device.  LocalStore and RemoteLender (lib/ps/client) lend, and RowCache (lib/device) borrows.
// LocalStore lends dense parameters too, to DenseOnDevice.
//
// The lender keeps all rows.  The borrower has copies of some of them, to which it applies the steps.  A push
// to the lender only begins the step of a parameter that is lent, so a copy may be some steps ahead of the
// lender's row.
#ifndef PS_STORE_ROW_LENDER_H_
#define PS_STORE_ROW_LENDER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/table_layout.h"
#include "optim/optimizer.h"
#include "optim/parameter.h"
#include "table/row_block.h"

namespace ps {

// Called by the lender in its owner thread.
class RowBorrower {
 public:
  virtual ~RowBorrower() = default;

  // Puts all rows that have changed back to the lender, and keeps its copies.
  virtual void put_back() = 0;

  // Puts all rows that have changed back to the lender, and drops its copies.
  virtual void return_all() = 0;

  // Returns those keys, in the given order, of which the borrower has no row.  Not called for a dense
  // parameter.
  virtual std::vector<uint64_t> missing(std::span<const uint64_t> keys) {
    return (void)keys, std::vector<uint64_t>();
  }
};

// The time at which a key gets a row.
enum class NewRows {
  kAtFirstUse,   // there is no row policy: fetch_rows makes it
  kAtFirstPush,  // a push makes it if there is room, and trains it; fetch_rows gives its initial values
  kByAdmission,  // a push may make it, and a later one trains it; fetch_rows gives zeros
};

inline NewRows new_rows_of(const ParameterSpec& spec) {
  if (!spec.row_policy) return NewRows::kAtFirstUse;
  return spec.row_policy->admission ? NewRows::kByAdmission : NewRows::kAtFirstPush;
}

// One owner thread.  A parameter is named by its index.
class RowLender {
 public:
  virtual ~RowLender() = default;

  // From now on pulls to train set no rows of the parameter, which must be sparse, and pushes do not update
  // them.  Pushes make the decisions of a row policy, which depend on counts of keys, and not on weights: rows
  // that it removes are gone, also those of which the borrower has copies.  Before rows are read, saved or set here, the borrower puts back what it has
  // changed.  The borrower must outlive all use of the lender.
  virtual void lend_rows(int parameter, RowBorrower& borrower) = 0;

  // Returns true if pushes read the gradients of the parameter, which must then be in memory of the host.
  virtual bool reads_gradients(int parameter) const { return (void)parameter, true; }

  // Returns true if the lender makes borrowers put back their changes whenever rows are read here.  Otherwise
  // they put them back at the end of each pass.
  virtual bool has_rows_put_back() const { return false; }

  virtual TableLayout layout(int parameter) const = 0;
  virtual const Optimizer<float>& optimizer(int parameter) const = 0;

  // Returns the factor by which the gradients of the last push are multiplied; it includes their mean and
  // clipping by norm.
  virtual float last_scale(int parameter) const = 0;

  // Returns those keys that have no row after all pushes so far, in any order.  It is called in each pull to
  // train, for its keys, unless rows are made at their first use.
  virtual std::vector<uint64_t> absent(int parameter, std::span<const uint64_t> keys) {
    return (void)parameter, (void)keys, std::vector<uint64_t>();
  }

  // rows [keys, layout.values()] <- the rows as in a pull to train: missing rows are made, and all are up to
  // date with all steps begun.  Keys are distinct, in any order.
  virtual void fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) = 0;

  // fetch_stored copies rows as they are stored, without the idle steps, in the order of the keys.  All keys
  // must have a row, unless there is a row policy: keys without one are then left out. put_rows sets rows in
  // the same form; with a row policy, those of keys for which no row is made in this step are dropped.
  virtual void fetch_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) = 0;
  virtual void put_rows(int parameter, const RowBlock& rows) = 0;

  // Rows that leave the borrower as the lender has them, in the same form: it may keep copies of those that a coming batch
  // uses, which it need not fetch then.
  virtual void keep_rows(int parameter, const RowBlock& rows) { (void)parameter, (void)rows; }

  // To be called when all borrowers have applied the step of the last push.
  virtual void end_step() {}

  // For a borrower that copies rows of the next batch to the device while the present batch is computed.
  // next_has_come returns true if all rows of the next batch that were requested ahead have come. take_stored
  // moves the rows that have come from the lender to `rows`, as they are stored; a row that nobody has trained yet
  // is as it was before the first step, and is left out unless `untrained` asks for it.  Keys must ascend; keys
  // whose rows have not come are left out.
  // is_used returns true if the present batch, or one that was announced, uses the row.
  virtual bool next_has_come() const { return false; }
  virtual bool is_used(int parameter, uint64_t key) const { return (void)parameter, (void)key, false; }
  virtual void take_stored(int parameter, std::span<const uint64_t> keys, bool untrained, RowBlock& rows) {
    (void)parameter, (void)keys, (void)untrained;
    rows.clear();
  }

  // Handles messages of other processes until done() returns true, which is called after each event, or until
  // an error ends the connections; the next call that waits then throws that error. wake makes an event; any
  // thread may call it.
  virtual void work_until(const std::function<bool()>& done) { (void)done; }
  virtual void wake() {}

  // fetch_seconds returns the sum of the times from requests for rows to their answers. waited_seconds
  // returns the time for which the owner thread has waited for rows.
  virtual double fetch_seconds() const { return 0; }
  virtual double waited_seconds() const { return 0; }
};

}  // namespace ps

#endif  // PS_STORE_ROW_LENDER_H_
