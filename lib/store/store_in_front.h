// StoreInFront: a store in front of another one that has the parameters.  Models are read from the other
// store, and loaded into it; a derived class pulls and pushes batches.
#ifndef PS_STORE_STORE_IN_FRONT_H_
#define PS_STORE_STORE_IN_FRONT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "store/parameter_store.h"

namespace ps {

// One owner thread, that of the other store.
class StoreInFront : public ParameterStore {
 public:
  KeyOrder key_order() const override { return inner_.key_order(); }
  bool may_wait() const override { return inner_.may_wait(); }
  double learning_rate() const override { return inner_.learning_rate(); }
  StoreTimes times() const override { return inner_.times(); }
  void end_pass(int64_t pass) override { inner_.end_pass(pass); }

  std::vector<uint64_t> keys(int parameter) override { return inner_.keys(parameter); }
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override {
    inner_.read_rows(parameter, keys, weights);
  }
  void read_all(int parameter, float* weights) override { inner_.read_all(parameter, weights); }
  RowReport row_report(int parameter) override { return inner_.row_report(parameter); }
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override {
    inner_.load_rows(parameter, keys, weights);
  }
  void load_all(int parameter, const float* weights) override { inner_.load_all(parameter, weights); }

 protected:
  // `inner` outlives this.
  explicit StoreInFront(ParameterStore& inner) : inner_(inner) {}

  ParameterStore& inner() const { return inner_; }

 private:
  ParameterStore& inner_;
};

}  // namespace ps

#endif  // PS_STORE_STORE_IN_FRONT_H_
