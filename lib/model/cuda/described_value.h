// append_value: the bytes of a value, member by member, so that two values that are equal have equal bytes.  A
// plain copy of its memory would have what happens to lie between its members too.  Used by HeldWork.
#ifndef PS_MODEL_CUDA_DESCRIBED_VALUE_H_
#define PS_MODEL_CUDA_DESCRIBED_VALUE_H_

#include <cstddef>
#include <string>
#include <type_traits>

namespace ps {

namespace described_value {

// Stands for a member of any type where a number of members is tried.
struct AnyMember {
  template <class T>
  constexpr operator T() const;
};

// The number of members of an aggregate is the largest number of values that it can be made of.
template <class T, class... Members>
constexpr size_t num_members() {
  if constexpr (requires { T{Members{}..., AnyMember{}}; }) return num_members<T, Members..., AnyMember>();
  return sizeof...(Members);
}

}  // namespace described_value

template <class T>
void append_value(const T& value, std::string& out);

template <class... Values>
void append_values(std::string& out, const Values&... values) {
  (append_value(values, out), ...);
}

// T is a number, an enumerator, a pointer, or a plain struct of such values and of structs of them; a struct with nothing
// between its members may have arrays.
template <class T>
void append_value(const T& value, std::string& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  if constexpr (std::is_empty_v<T>) {
    return;
  } else if constexpr (std::is_scalar_v<T> || std::has_unique_object_representations_v<T>) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  } else {
    constexpr size_t kMembers = described_value::num_members<T>();
    static_assert(std::is_aggregate_v<T> && kMembers >= 1 && kMembers <= 16);
#define PS_IF_MEMBERS(number, ...)     \
  if constexpr (kMembers == number) {  \
    const auto& [__VA_ARGS__] = value; \
    append_values(out, __VA_ARGS__);   \
  }
    PS_IF_MEMBERS(1, a)
    PS_IF_MEMBERS(2, a, b)
    PS_IF_MEMBERS(3, a, b, c)
    PS_IF_MEMBERS(4, a, b, c, d)
    PS_IF_MEMBERS(5, a, b, c, d, e)
    PS_IF_MEMBERS(6, a, b, c, d, e, f)
    PS_IF_MEMBERS(7, a, b, c, d, e, f, g)
    PS_IF_MEMBERS(8, a, b, c, d, e, f, g, h)
    PS_IF_MEMBERS(9, a, b, c, d, e, f, g, h, i)
    PS_IF_MEMBERS(10, a, b, c, d, e, f, g, h, i, j)
    PS_IF_MEMBERS(11, a, b, c, d, e, f, g, h, i, j, k)
    PS_IF_MEMBERS(12, a, b, c, d, e, f, g, h, i, j, k, l)
    PS_IF_MEMBERS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
    PS_IF_MEMBERS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
    PS_IF_MEMBERS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
    PS_IF_MEMBERS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
#undef PS_IF_MEMBERS
  }
}

}  // namespace ps

#endif  // PS_MODEL_CUDA_DESCRIBED_VALUE_H_
