// PassModels: the models of passes that a process has to save.  Used by RunSaves.
#ifndef PS_JOB_PASS_MODELS_H_
#define PS_JOB_PASS_MODELS_H_

#include <map>
#include <string>

namespace ps {

// It outlives the runs of the process; another run begins when servers have lost state.  So a model that an
// earlier run began, and that no process saved after that, is not forgotten.  One owner thread.
class PassModels {
 public:
  // The process was elected to save the model; called again if it begins the model anew.
  void begin(const std::string& name) { models_[name] = kBegun; }
  void saved(const std::string& name) { models_[name] = ""; }
  void failed(const std::string& name, const std::string& why) { models_[name] = why; }

  // Another process saves the model, or has saved it.
  void leave(const std::string& name) { models_.erase(name); }

  // Returns true if the model was begun, and has neither been saved nor left since.
  bool is_begun(const std::string& name) const;

  // Called when the job is done.  Throws kUnavailable with the number of models that were not saved, and the
  // reason for the first.
  void check() const;

 private:
  static constexpr const char* kBegun = "the run went back to a checkpoint while it was being saved";

  // By name: the reason why the model is not saved; empty: it is saved.
  std::map<std::string, std::string> models_;
};

}  // namespace ps

#endif  // PS_JOB_PASS_MODELS_H_
