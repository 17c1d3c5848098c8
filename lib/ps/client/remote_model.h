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

// One owner thread.  All calls wait until the trainer's own pushes are applied, and are those of ParameterStore.
class RemoteModel {
 public:
  // All outlive this.
  RemoteModel(ShardLinks& links, const std::vector<ParameterSpec>& specs, RemotePushes& pushes);

  std::vector<uint64_t> keys(int parameter);
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights);
  void read_all(int parameter, float* weights);
  RowReport row_report(int parameter);
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights);
  void load_all(int parameter, const float* weights);

  // For a trainer that has parameters itself (HybridStore, AheadStore).  All floats of one as the servers store them: weights
  // [rows, cols], then state arrays of the same shape; and how far the schedule and the optimizers of all have come,
  // as Shard::optimizers says it.  Unlike all others, reading waits for no push of this trainer.
  void read_stored(int parameter, int64_t state_arrays, std::vector<float>& floats);
  void load_stored(int parameter, int64_t state_arrays, std::span<const float> floats);
  std::string read_optimizers(bool sparse);

 private:
  void read(const RowExchange::AddRowSlices& add_row_slices, const RowExchange::OnRows& on_rows);
  void load(const RowExchange::AddRowSlices& add_row_slices, const float* weights);

  // Calls body(own, at) for each row that add_stored has routed: it is the own-th of these, and the at-th of all.
  template <class Body>
  void for_each_stored(size_t shard, const RoutedRows& routed, Body&& body);

  ShardLinks& links_;
  const std::vector<ParameterSpec>& specs_;
  RemotePushes& pushes_;
  RowExchange exchange_;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_MODEL_H_
