// Models on disk: a folder pass-00000/ with model.safetensors and the job as it ran.  ps-model(5).
//
// Used by ps-train to save, and to start from what was saved.
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

// "pass-00007-batch-19": after so many batches of it.
std::string batch_directory(int pass, int64_t batches);

// The names of the files in such a folder.
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kBestModel = "best";  // a link to the best pass on the validation data
inline constexpr const char* kModelJob = "job.json";
inline constexpr const char* kModelVocabulary = "vocabulary.txt";  // of text

// The model file that `path` means: itself, or model.safetensors in it when it is a folder.
std::string model_file_path(const std::string& path);

// Writes all parameters.  A sparse parameter becomes the tensors "<name>.keys" U64 [N], ascending, and "<name>.rows"
// F32 [N, D]; every other parameter becomes the tensor "<name>" F32 [rows, cols].  Rows are streamed through a bounded buffer,
// and `on_rows` is called each time when it has been written.  Throws kData, which names the first weight that is not finite.
void save_model(
    const std::string& path, const std::vector<ParameterSpec>& parameters, ParameterStore& store,
    const Metadata& metadata, const std::function<void()>& on_rows = [] {});

// Sets parameters from a model file: all of them, each of which must be there with the same shape (a sparse
// parameter may be loaded from a whole one and the other way round).  Throws kUsage when the model does not
// fit the job, kCorrupt when it is damaged, and kData when a weight is not finite.
void load_model(const std::string& path, const std::vector<ParameterSpec>& parameters, ParameterStore& store);

// Sets parameters in the same way from the weights of a checkpoint, to which all idle steps are applied.
void load_model(ModelSource& model, const std::vector<ParameterSpec>& parameters, ParameterStore& store);

// Sets the one parameter `index` from the parameter of the same name in a model file: init "file".
void load_parameter(const std::string& path, const std::vector<ParameterSpec>& parameters, size_t index,
                    ParameterStore& store);

}  // namespace ps

#endif  // PS_TRAIN_MODEL_FILE_H_
