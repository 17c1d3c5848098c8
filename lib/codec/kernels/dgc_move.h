// The step of Deep Gradient Compression for one value: codec/dgc.h gives the formula.  Used by the loops of
// the processor (codec/kernels/select.cc) and of devices (codec/cuda).
#ifndef PS_CODEC_KERNELS_DGC_MOVE_H_
#define PS_CODEC_KERNELS_DGC_MOVE_H_

namespace ps {

// d <- eta (scale g + l2 w)      u <- momentum u + d      v <- v + u, or with Nesterov v + (momentum u + d)
template <bool kDecay, bool kNesterov>
struct DgcMove {
  float scale, eta, momentum, l2;  // eta: the negative learning rate

  [[gnu::always_inline]] constexpr void operator()(float& velocity, float& residual, float gradient,
                                                   float weight) const {
    float g = gradient * scale;
    if constexpr (kDecay) g += l2 * weight;
    const float d = eta * g;
    const float u = momentum * velocity + d;
    velocity = u;
    residual += kNesterov ? momentum * u + d : u;
  }
};

}  // namespace ps

#endif  // PS_CODEC_KERNELS_DGC_MOVE_H_
