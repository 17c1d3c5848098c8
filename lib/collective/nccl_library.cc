#include "collective/nccl_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace ps {

namespace {

constexpr int kOldestNccl = 21400;  // the first version with communicators whose calls do not wait

// The symbol of a library that stands in for NCCL and works on the memory of emulated devices; tests have one.
constexpr const char* kEmulatesSymbol = "pskit_nccl_of_emulated_devices";

// The functions of a library that is loaded and stays loaded.  Used by load_nccl alone.
class NcclSymbols {
 public:
  explicit NcclSymbols(const std::string& file) : file_(file), library_(dlopen(file.c_str(), RTLD_NOW)) {
    if (library_ != nullptr) return;
    const char* const reason = dlerror();
    fail(Code::kUsage, "cluster.nccl_library: cannot load ", quote(file), ": ",
         reason == nullptr ? "no reason is given" : reason,
         "; give --nccl-library FILE, the libnccl.so.2 of NVIDIA's NCCL");
  }

  bool has(const char* name) const { return dlsym(library_, name) != nullptr; }

  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) {
      fail(Code::kUsage, "cluster.nccl_library: ", quote(file_), " has no function ", name,
           ", and so is not NCCL 2.14 or later");
    }
  }

 private:
  const std::string& file_;
  void* const library_;
};

// Returns true for results that a wrong call causes, rather than the machine or another rank.
bool is_mistake(NcclResult result) {
  return result == NcclResult::kInternalError || result == NcclResult::kInvalidArgument ||
         result == NcclResult::kInvalidUsage;
}

}  // namespace

NcclLibrary load_nccl(const std::string& file) {
  const NcclSymbols symbols(file);
  NcclLibrary found{};
  // All functions are looked up before any of them is called, so that an older library is recognised by the
  // first one that it lacks.
  symbols.find("ncclGetVersion", found.GetVersion);
  symbols.find("ncclGetUniqueId", found.GetUniqueId);
  symbols.find("ncclCommInitRankConfig", found.CommInitRankConfig);
  symbols.find("ncclCommGetAsyncError", found.CommGetAsyncError);
  symbols.find("ncclCommFinalize", found.CommFinalize);
  symbols.find("ncclCommDestroy", found.CommDestroy);
  symbols.find("ncclCommAbort", found.CommAbort);
  symbols.find("ncclGetErrorString", found.GetErrorString);
  symbols.find("ncclGetLastError", found.GetLastError);
  symbols.find("ncclAllReduce", found.AllReduce);
  symbols.find("ncclReduce", found.Reduce);
  symbols.find("ncclReduceScatter", found.ReduceScatter);
  symbols.find("ncclAllGather", found.AllGather);
  symbols.find("ncclBroadcast", found.Broadcast);
  symbols.find("ncclGroupStart", found.GroupStart);
  symbols.find("ncclGroupEnd", found.GroupEnd);
  check_nccl(found, found.GetVersion(&found.version), nullptr, "ncclGetVersion");
  if (found.version < kOldestNccl) {
    fail(Code::kUsage, "cluster.nccl_library: ", quote(file), " is NCCL ", nccl_version_text(found.version),
         ", expected ", nccl_version_text(kOldestNccl), " or later");
  }
  found.emulates = symbols.has(kEmulatesSymbol);
  return found;
}

// From 2.9 on, the number of a version has two digits for each part; before, one for the middle part.
std::string nccl_version_text(int version) {
  if (version < 10000) return cat(version / 1000, ".", version / 100 % 10, ".", version % 100);
  return cat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

void check_nccl(const NcclLibrary& library, NcclResult result, NcclHandle handle, std::string_view call) {
  if (result == NcclResult::kSuccess || result == NcclResult::kInProgress) return;
  const char* const text = library.GetErrorString(result);
  const char* const more = library.GetLastError(handle);
  std::string message = cat("NCCL's ", call, " failed: ", text == nullptr ? "no reason is given" : text);
  if (more != nullptr && *more != '\0') message += cat(": ", more);
  fail(is_mistake(result) ? Code::kInternal : Code::kUnavailable, message);
}

}  // namespace ps
