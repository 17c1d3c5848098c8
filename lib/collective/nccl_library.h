// NcclLibrary: the functions of NVIDIA's NCCL, which is loaded at run time, since Debian has no package of it.
// Used by NcclCommunicator.
//
// Types and numbers are those of nccl.h. tests/e2e/nccl_header_test.sh compares them with an installed nccl.h.
#ifndef PS_COLLECTIVE_NCCL_LIBRARY_H_
#define PS_COLLECTIVE_NCCL_LIBRARY_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace ps {

// ncclResult_t.
enum class NcclResult : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

// ncclDataType_t, the values for the element types of communicators.
enum class NcclType : int { kInt64 = 4, kFloat32 = 7, kFloat64 = 8 };

// ncclRedOp_t.
enum class NcclOperation : int { kSum = 0 };

// ncclUniqueId.
struct NcclUniqueId {
  char bytes[128];
};

// ncclConfig_t of NCCL 2.14, the first version that had it.  NCCL reads `size` bytes of it, and uses defaults
// for all later fields.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;  // calls return at once, and ncclCommGetAsyncError tells their state
};

using NcclHandle = void*;  // ncclComm_t
using NcclStream = void*;  // cudaStream_t

// The functions, by their names without "nccl".
struct NcclLibrary {
  NcclResult (*GetVersion)(int* version);
  NcclResult (*GetUniqueId)(NcclUniqueId* id);
  NcclResult (*CommInitRankConfig)(NcclHandle* made, int ranks, NcclUniqueId id, int rank,
                                   NcclConfig* config);
  NcclResult (*CommGetAsyncError)(NcclHandle handle, NcclResult* state);
  NcclResult (*CommFinalize)(NcclHandle handle);
  NcclResult (*CommDestroy)(NcclHandle handle);
  NcclResult (*CommAbort)(NcclHandle handle);
  const char* (*GetErrorString)(NcclResult result);
  const char* (*GetLastError)(NcclHandle handle);
  NcclResult (*AllReduce)(const void* send, void* receive, size_t count, NcclType type,
                          NcclOperation operation, NcclHandle handle, NcclStream stream);
  NcclResult (*Reduce)(const void* send, void* receive, size_t count, NcclType type, NcclOperation operation,
                       int root, NcclHandle handle, NcclStream stream);
  NcclResult (*ReduceScatter)(const void* send, void* receive, size_t receive_count, NcclType type,
                              NcclOperation operation, NcclHandle handle, NcclStream stream);
  NcclResult (*AllGather)(const void* send, void* receive, size_t send_count, NcclType type,
                          NcclHandle handle, NcclStream stream);
  NcclResult (*Broadcast)(const void* send, void* receive, size_t count, NcclType type, int root,
                          NcclHandle handle, NcclStream stream);
  NcclResult (*GroupStart)();
  NcclResult (*GroupEnd)();

  int version = 0;        // 22809 is 2.28.9
  bool emulates = false;  // true if the library works on the memory of emulated devices instead of GPUs
};

// Loads the library, which is a path or a name for the dynamic linker, and never unloads it.  Throws kUsage if
// it cannot be loaded, lacks a function, or is older than NCCL 2.14.
NcclLibrary load_nccl(const std::string& file);

// "2.28.9".
std::string nccl_version_text(int version);

// Throws unless the result is kSuccess or kInProgress: kUnavailable if another rank, the network or the device
// has failed, kInternal if NCCL says that it was called incorrectly.  `handle` may be null.
void check_nccl(const NcclLibrary& library, NcclResult result, NcclHandle handle, std::string_view call);

}  // namespace ps

#endif  // PS_COLLECTIVE_NCCL_LIBRARY_H_
