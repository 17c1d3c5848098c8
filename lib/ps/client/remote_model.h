// RemoteModel: the weights on servers, read and set for models.  Used by RemoteStore.
#ifndef PS_PS_CLIENT_REMOTE_MODEL_H_
#define PS_PS_CLIENT_REMOTE_MODEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ps/client/remote_pushes.h"
#include "ps/client/row_exchange.h"
#include "ps/client/shard_links.h"
#include "store/parameter_store.h"

namespace ps {

// One owner thread.  The calls are those of ParameterStore, and wait until the trainer's own pushes are
// applied.
class RemoteModel {
 public:
  // All arguments outlive this.
  RemoteModel(ShardLinks& links, const std::vector<ParameterSpec>& specs, RemotePushes& pushes);

  std::vector<uint64_t> keys(int parameter);
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights);
  void read_all(int parameter, float* weights);
  RowReport row_report(int parameter);
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights);
  void load_all(int parameter, const float* weights);

  // For a trainer that has parameters itself (HybridStore, AheadStore). read_stored gets all floats of a
  // parameter as the servers store them: weights [rows, cols], then state arrays of the same shape.
  // read_optimizers gets the state of the schedule and of the optimizers, in the format of Shard::optimizers.
  // Unlike the other calls, these reads do not wait for the trainer's pushes.
  void read_stored(int parameter, int64_t state_arrays, std::vector<float>& floats);
  void load_stored(int parameter, int64_t state_arrays, std::span<const float> floats);
  std::string read_optimizers(bool sparse);

 private:
  void read(const RowExchange::AddRowSlices& add_row_slices, const RowExchange::OnRows& on_rows);
  void load(const RowExchange::AddRowSlices& add_row_slices, const float* weights);

  // Calls body(own, at) for each row that add_stored has routed.  `own` is its index among the routed rows, and
  // `at` its index among all rows.
  template <class Body>
  void for_each_stored(size_t shard, const RoutedRows& routed, Body&& body);

  ShardLinks& links_;
  const std::vector<ParameterSpec>& specs_;
  RemotePushes& pushes_;
  RowExchange exchange_;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_MODEL_H_
