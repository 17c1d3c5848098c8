// Models on disk: a folder pass-00000/ with model.safetensors and the job as it ran; see ps-model(5).
//
// Used by ps-train to save models, and to start from saved ones.
#ifndef PS_TRAIN_MODEL_FILE_H_
#define PS_TRAIN_MODEL_FILE_H_

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/model/model_source.h"
#include "checkpoint/safetensors.h"
#include "optim/parameter.h"
#include "store/parameter_store.h"

namespace ps {

// "pass-00007"
std::string pass_directory(int pass);

// "pass-00007-batch-19": the model after 19 batches of pass 7.
std::string batch_directory(int pass, int64_t batches);

// The names of the files in such a folder.
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kBestModel = "best";  // a link to the best pass on the validation data
inline constexpr const char* kModelJob = "job.json";
inline constexpr const char* kModelVocabulary = "vocabulary.txt";  // the vocabulary of text

// Returns the model file that `path` names: the path itself, or model.safetensors in it if it is a folder.
std::string model_file_path(const std::string& path);

// Writes all parameters.  A sparse parameter becomes the tensors "<name>.keys" U64 [N], ascending, and
// "<name>.rows" F32 [N, D]; every other parameter becomes the tensor "<name>" F32 [rows, cols].  Rows are
// streamed through a bounded buffer, and `on_rows` is called each time the buffer has been written.  Throws
// kData, naming the first weight that is not finite.
void save_model(
    const std::string& path, const std::vector<ParameterSpec>& parameters, ParameterStore& store,
    const Metadata& metadata, const std::function<void()>& on_rows = [] {});

// Sets all parameters from a model file.  Each parameter must be in it with the same shape; a sparse parameter
// may be loaded from a whole one and the other way round.  Throws kUsage if the model does not fit the job,
// kCorrupt if it is damaged, and kData if a weight is not finite.
void load_model(const std::string& path, const std::vector<ParameterSpec>& parameters, ParameterStore& store);

// Sets parameters in the same way from the weights of a checkpoint, to which all idle steps are applied.
void load_model(ModelSource& model, const std::vector<ParameterSpec>& parameters, ParameterStore& store);

// Sets only parameter `index`, from the parameter of the same name in a model file, for init "file".
void load_parameter(const std::string& path, const std::vector<ParameterSpec>& parameters, size_t index,
                    ParameterStore& store);

}  // namespace ps

#endif  // PS_TRAIN_MODEL_FILE_H_
