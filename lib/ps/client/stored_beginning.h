// StoredBeginning: the state of a run on servers without the rows of sparse parameters, with which a LocalStore
// goes on with the same bits.  Used by AheadStore, and sent by readers that pull ahead to their compute
// trainers.
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
  // The results of RemoteModel::read_optimizers. sparse_optimizers is empty if no parameter is sparse.
  std::string dense_optimizers, sparse_optimizers;
  // By parameter: weights, then state arrays, each [rows, cols]; empty if it is sparse.
  std::vector<std::vector<float>> dense;
};

// Reads the state of a run.  `local` has the parameters and their layouts.  Throws as the calls of RemoteModel
// do.
StoredBeginning read_beginning(RemoteModel& model, const std::vector<ParameterSpec>& specs,
                               const LocalStore& local);

// Sets the state of a store in which nothing was trained.  Throws kData if the state belongs to other
// parameters, and kCorrupt if the steps of its optimizers differ from those of its schedule.
void begin_from(const StoredBeginning& beginning, const std::vector<ParameterSpec>& specs, LocalStore& local);

// beginning := dense:string sparse:string (count:u64 value:f32[count])[parameters]      (string := size:u64 byte[size])
std::string encode_beginning(const StoredBeginning& beginning);

// Throws kData unless the whole body is well-formed and has this number of parameters.
StoredBeginning decode_beginning(std::span<const char> body, size_t num_parameters);

}  // namespace ps

#endif  // PS_PS_CLIENT_STORED_BEGINNING_H_
