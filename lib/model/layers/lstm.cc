#include "model/layers/recurrent.h"

namespace ps {

namespace {

template <class T>
using Lstm = Recurrent<T, LstmCell>;

}  // namespace

extern const LayerEntry kLstmLayer = layer_entry<RecurrentOptions, Lstm>(
    "lstm", "long short-term memory, which reads the rows of a sequence one after the other");

}  // namespace ps
