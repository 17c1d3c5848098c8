#include "math/group_costs.h"

#include "base/reals.h"
#include "math/device_kernels.h"

namespace ps {

namespace {

constexpr int64_t kGroupExamples = 16;  // positions that a block has

// Returns the arrays of a call as kernels of this device can read them.  Groups are made anew for each cost
// and gone when it has been queued: they are copied.  Targets belong to the batch, and are sent once for
// all costs that read them.
template <class T>
GroupCosts<T> call_there(Device& device, const RankingGroups& groups, Matrix<const T> scores,
                         const CostTargets& targets, T* costs, T* gradient) {
  const int64_t size = scores.rows;
  return {{copy_there(device, groups.order, size), copy_there(device, groups.begins, size),
           copy_there(device, groups.ends, size)},
          scores.data,
          {mirror(device, targets.labels, size), mirror(device, targets.weights, size), targets.positive},
          costs,
          gradient};
}

// Calls body(p) for every position p, in blocks.
template <class Body>
void for_positions(Device& device, int64_t positions, const Body& body) {
  if (run_there(device, positions, body)) return;
  device.for_each(positions, kGroupExamples, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) body(p);
  });
}

}  // namespace

template <class T>
void ranking_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
                   const CostTargets& targets, T* costs, T* gradient) {
  for_positions(device, scores.rows,
                RankItems<T>{call_there(device, groups, scores, targets, costs, gradient)});
}

template <class T>
void bpr_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
               const CostTargets& targets, T* costs, T* gradient) {
  for_positions(device, scores.rows,
                BprItems<T>{call_there(device, groups, scores, targets, costs, gradient)});
}

template <class T>
void listwise_softmax_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
                            const CostTargets& targets, T* costs, T* gradient) {
  for_positions(device, scores.rows,
                ListwiseItems<T>{call_there(device, groups, scores, targets, costs, gradient)});
}

#define PS_INSTANTIATE(T)                                                                                  \
  template void ranking_costs(Device&, const RankingGroups&, Matrix<const T>, const CostTargets&, T*, T*); \
  template void bpr_costs(Device&, const RankingGroups&, Matrix<const T>, const CostTargets&, T*, T*);     \
  template void listwise_softmax_costs(Device&, const RankingGroups&, Matrix<const T>, const CostTargets&, \
                                       T*, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
