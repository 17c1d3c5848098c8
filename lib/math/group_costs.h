// Kernels of costs that compare the examples of a group.  Used by the costs of models.  T is float or double.
//
// Shapes: scores [B, 1]  ->  costs [B], gradient [B], null when it is not wanted: that of the sum of the costs.  Sums
// run in the order of the group, and each has one writer.  Groups and targets are always in the memory of the host, and
// targets stay as they are while the batch is computed.
#ifndef PS_MATH_GROUP_COSTS_H_
#define PS_MATH_GROUP_COSTS_H_

#include "math/device.h"
#include "math/items/ranking_items.h"
#include "math/matrix.h"

namespace ps {

// RankNet: costs[i] <- weight i x the sum over the examples j of i's group with a lower label of log(1 + e^(s_j - s_i)).
template <class T>
void ranking_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
                   const CostTargets& targets, T* costs, T* gradient);

// Rendle et al., "BPR: Bayesian personalized ranking from implicit feedback", UAI 2009, with all negative examples j of
// the group (label at most 0) for each positive one i:
//   costs[i] <- weight i x the mean over j of log(1 + e^(s_j - s_i)); 0 for negative examples
template <class T>
void bpr_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
               const CostTargets& targets, T* costs, T* gradient);

// The top-one probabilities of Cao et al., "Learning to rank: from pairwise approach to listwise approach", ICML 2007,
// with labels as they are, those below 0 as 0:
//   costs[i] <- weight i x label i x -log of the softmax of the group's scores at i
template <class T>
void listwise_softmax_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
                            const CostTargets& targets, T* costs, T* gradient);

}  // namespace ps

#endif  // PS_MATH_GROUP_COSTS_H_
