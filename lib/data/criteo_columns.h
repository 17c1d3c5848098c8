// The columns of Criteo's files after the label.  Used by the parser and the writer of the format criteo.
#ifndef PS_DATA_CRITEO_COLUMNS_H_
#define PS_DATA_CRITEO_COLUMNS_H_

namespace ps {

inline constexpr int kCriteoIntegers = 13, kCriteoCategories = 26;

}  // namespace ps

#endif  // PS_DATA_CRITEO_COLUMNS_H_
