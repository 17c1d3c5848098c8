// PassModels: the models of passes that a process is to save.  Used by RunSaves.
#ifndef PS_JOB_PASS_MODELS_H_
#define PS_JOB_PASS_MODELS_H_

#include <map>
#include <string>

namespace ps {

// It outlives the runs of the process, of which the next begins when servers have lost something: a model that an earlier
// run began, and that nobody saved after it, is not forgotten.  One owner thread.
class PassModels {
 public:
  // The process was elected to save the model; again, when it begins it anew.
  void begin(const std::string& name) { models_[name] = kBegun; }
  void saved(const std::string& name) { models_[name] = ""; }
  void failed(const std::string& name, const std::string& why) { models_[name] = why; }

  // Another process saves it, or has saved it.
  void leave(const std::string& name) { models_.erase(name); }

  // It was begun, and neither saved nor left since.
  bool is_begun(const std::string& name) const;

  // When the job is done: throws kUnavailable with the number of models that were not saved, and why the first was not.
  void check() const;

 private:
  static constexpr const char* kBegun = "the run went back to a checkpoint while it was being saved";

  std::map<std::string, std::string> models_;  // why it is not saved, by name; empty: it is
};

}  // namespace ps

#endif  // PS_JOB_PASS_MODELS_H_
