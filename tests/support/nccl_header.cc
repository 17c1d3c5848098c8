// Compares lib/collective/nccl_library.h with the nccl.h of NVIDIA.  Compiled by tests/e2e/nccl_header_test.sh.
#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "collective/nccl_library.h"

namespace ps {

template <class First, class Second>
constexpr bool kAlike =
    sizeof(First) == sizeof(Second) && std::is_pointer_v<First> == std::is_pointer_v<Second>;

// Functions are called alike when their results and parameters are passed alike.
template <class Result, class... Parameters, class OtherResult, class... OtherParameters>
constexpr bool are_alike(Result (*)(Parameters...), OtherResult (*)(OtherParameters...)) {
  if constexpr (sizeof...(Parameters) != sizeof...(OtherParameters)) {
    return false;
  } else {
    return kAlike<Result, OtherResult> && (kAlike<Parameters, OtherParameters> && ...);
  }
}

constexpr NcclLibrary kNone{};
static_assert(are_alike(kNone.GetVersion, &ncclGetVersion));
static_assert(are_alike(kNone.GetUniqueId, &ncclGetUniqueId));
static_assert(are_alike(kNone.CommInitRankConfig, &ncclCommInitRankConfig));
static_assert(are_alike(kNone.CommGetAsyncError, &ncclCommGetAsyncError));
static_assert(are_alike(kNone.CommFinalize, &ncclCommFinalize));
static_assert(are_alike(kNone.CommDestroy, &ncclCommDestroy));
static_assert(are_alike(kNone.CommAbort, &ncclCommAbort));
static_assert(are_alike(kNone.GetErrorString, &ncclGetErrorString));
static_assert(are_alike(kNone.GetLastError, &ncclGetLastError));
static_assert(are_alike(kNone.AllReduce, &ncclAllReduce));
static_assert(are_alike(kNone.Reduce, &ncclReduce));
static_assert(are_alike(kNone.ReduceScatter, &ncclReduceScatter));
static_assert(are_alike(kNone.AllGather, &ncclAllGather));
static_assert(are_alike(kNone.Broadcast, &ncclBroadcast));
static_assert(are_alike(kNone.GroupStart, &ncclGroupStart));
static_assert(are_alike(kNone.GroupEnd, &ncclGroupEnd));

static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
constexpr ncclConfig_t kUsual = NCCL_CONFIG_INITIALIZER;
static_assert(NcclConfig().magic == kUsual.magic && NcclConfig().version <= kUsual.version);
static_assert(NcclConfig().size <= kUsual.size);
static_assert(NcclConfig().version == NCCL_VERSION(2, 14, 0));

static_assert(static_cast<int>(NcclResult::kSuccess) == ncclSuccess);
static_assert(static_cast<int>(NcclResult::kUnhandledCudaError) == ncclUnhandledCudaError);
static_assert(static_cast<int>(NcclResult::kSystemError) == ncclSystemError);
static_assert(static_cast<int>(NcclResult::kInternalError) == ncclInternalError);
static_assert(static_cast<int>(NcclResult::kInvalidArgument) == ncclInvalidArgument);
static_assert(static_cast<int>(NcclResult::kInvalidUsage) == ncclInvalidUsage);
static_assert(static_cast<int>(NcclResult::kRemoteError) == ncclRemoteError);
static_assert(static_cast<int>(NcclResult::kInProgress) == ncclInProgress);
static_assert(static_cast<int>(NcclType::kInt64) == ncclInt64);
static_assert(static_cast<int>(NcclType::kFloat32) == ncclFloat32);
static_assert(static_cast<int>(NcclType::kFloat64) == ncclFloat64);
static_assert(static_cast<int>(NcclOperation::kSum) == ncclSum);

}  // namespace ps
