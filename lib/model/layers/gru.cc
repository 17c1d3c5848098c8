#include "model/layers/recurrent.h"

namespace ps {

namespace {

template <class T>
using Gru = Recurrent<T, GruCell>;

}  // namespace

extern const LayerEntry kGruLayer = layer_entry<RecurrentOptions, Gru>(
    "gru", "gated recurrent units, which read the rows of a sequence one after the other");

}  // namespace ps
