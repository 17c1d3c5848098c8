// StoredBeginning: all that servers store of a run but the rows of sparse parameters, so that a LocalStore can go on from
// there with the same bits.  Used by AheadStore, and sent by readers that pull ahead to their compute trainers.
#ifndef PS_PS_CLIENT_STORED_BEGINNING_H_
#define PS_PS_CLIENT_STORED_BEGINNING_H_

#include <span>
#include <string>
#include <vector>

#include "optim/parameter.h"
#include "ps/client/remote_model.h"
#include "store/local_store.h"

namespace ps {

struct StoredBeginning {
  // As RemoteModel::read_optimizers gives them; `sparse` is empty where no parameter is sparse.
  std::string dense_optimizers, sparse_optimizers;
  // By parameter: weights, then state arrays, each [rows, cols]; empty where it is sparse.
  std::vector<std::vector<float>> dense;
};

// Throws as the calls of RemoteModel.  `local` has the parameters, and says how each is stored.
StoredBeginning read_beginning(RemoteModel& model, const std::vector<ParameterSpec>& specs,
                               const LocalStore& local);

// Sets the state of a store in which nothing was trained.  Throws kData when it is of other parameters, and kCorrupt when
// its optimizers stand at other steps than its schedule.
void begin_from(const StoredBeginning& beginning, const std::vector<ParameterSpec>& specs, LocalStore& local);

// beginning := dense:string sparse:string (count:u64 value:f32[count])[parameters]      (string := size:u64 byte[size])
std::string encode_beginning(const StoredBeginning& beginning);

// Throws kData unless the whole body is well-formed, and is of so many parameters.
StoredBeginning decode_beginning(std::span<const char> body, size_t num_parameters);

}  // namespace ps

#endif  // PS_PS_CLIENT_STORED_BEGINNING_H_
