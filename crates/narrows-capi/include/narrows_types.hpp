// What narrows.hpp gives back, and the types of what it carries: results, spans, and descriptions
// of types that are the same in C++ and in Rust.
#ifndef NARROWS_TYPES_HPP
#define NARROWS_TYPES_HPP

#include <narrows.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace narrows {

using std::chrono::nanoseconds;

/// Waits for as long as it takes; 0 does not wait.
inline constexpr nanoseconds forever{NARROWS_FOREVER};
/// What is waited where nothing is said.
inline constexpr nanoseconds patience = std::chrono::seconds(5);

/// Why something failed.
class error {
public:
    error(narrows_error code, std::string text) : code_(code), text_(std::move(text)) {}
    /// The thread's last.
    explicit error(narrows_error code) : code_(code)
    {
        // Asked for again and again: its sentence is always the same.
        if (code != NARROWS_AGAIN)
            text_ = narrows_last_error_text();
    }
    narrows_error code() const { return code_; }
    const char *text() const { return text_.empty() ? narrows_error_text(code_) : text_.c_str(); }

private:
    narrows_error code_;
    std::string text_;
};

/// A value, or why there is none.
template <class T> class [[nodiscard]] result {
public:
    result(T value) : value_(std::move(value)) {}
    result(narrows::error why) : error_(std::move(why)) {}
    bool has_value() const { return value_.has_value(); }
    explicit operator bool() const { return has_value(); }
    /// Only where there is a value, as with std::optional.
    T &operator*() { return *value_; }
    const T &operator*() const { return *value_; }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }
    /// Only where there is none.
    const narrows::error &error() const { return *error_; }
    /// The value; throws a std::runtime_error with the sentence where there is none.
    T &value() &
    {
        check();
        return *value_;
    }
    T value() &&
    {
        check();
        return std::move(*value_);
    }

private:
    void check() const
    {
        if (!value_)
            throw std::runtime_error(error_->text());
    }
    std::optional<T> value_;
    std::optional<narrows::error> error_;
};

/// Nothing: what a function takes or gives that needs no bytes.
struct nothing {};

using done = result<nothing>;

/// Values that lie one behind the other, of somebody else.
template <class T> class span {
public:
    span() = default;
    span(T *data, std::size_t size) : data_(data), size_(size) {}
    template <class C, class = decltype(static_cast<T *>(std::declval<C &>().data()))>
    span(C &&values) : data_(values.data()), size_(values.size())
    {
    }
    T *data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T *begin() const { return data_; }
    T *end() const { return data_ + size_; }
    T &operator[](std::size_t at) const { return data_[at]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/// As many values of a type as there are: what a request or a response may be.
template <class T> struct slice {};

// Descriptions of types, the same as Rust's narrows-services makes.

template <class T> struct of {};

#define NARROWS_PLAIN(type, text) \
    inline void narrows_describe(std::string &to, of<type>) { to += text; }
NARROWS_PLAIN(std::uint8_t, "u8")
NARROWS_PLAIN(std::uint16_t, "u16")
NARROWS_PLAIN(std::uint32_t, "u32")
NARROWS_PLAIN(std::uint64_t, "u64")
NARROWS_PLAIN(std::int8_t, "i8")
NARROWS_PLAIN(std::int16_t, "i16")
NARROWS_PLAIN(std::int32_t, "i32")
NARROWS_PLAIN(std::int64_t, "i64")
NARROWS_PLAIN(float, "f32")
NARROWS_PLAIN(double, "f64")
NARROWS_PLAIN(nothing, "()")
#undef NARROWS_PLAIN

template <class T, std::size_t N> void narrows_describe(std::string &to, of<std::array<T, N>>)
{
    to += '[';
    narrows_describe(to, of<T>());
    to += ';' + std::to_string(N) + ']';
}

template <class T, std::size_t N> void narrows_describe(std::string &to, of<T[N]>)
{
    narrows_describe(to, of<std::array<T, N>>());
}

template <class T> void narrows_describe(std::string &to, of<slice<T>>)
{
    to += '[';
    narrows_describe(to, of<T>());
    to += ']';
}

template <class T> std::string described()
{
    std::string text;
    narrows_describe(text, of<T>());
    return text;
}

/// What a request or response of a type is for whoever makes it, and for whoever gets it.
template <class T> struct payload {
    static_assert(std::is_trivially_copyable_v<T>, "its bytes have to be all that there is of it");
    using in = const T &;
    using out = T;
    static constexpr std::size_t longest(std::size_t) { return sizeof(T); }
    static span<const char> bytes(in value)
    {
        return {reinterpret_cast<const char *>(&value), sizeof(T)};
    }
    static out room(std::size_t) { return T(); }
    static void *memory(out &value) { return &value; }
    static bool filled(out &, std::size_t length) { return length == sizeof(T); }
};

template <> struct payload<nothing> {
    using in = const nothing &;
    using out = nothing;
    static constexpr std::size_t longest(std::size_t) { return 0; }
    static span<const char> bytes(in) { return {}; }
    static out room(std::size_t) { return {}; }
    static void *memory(out &value) { return &value; }
    static bool filled(out &, std::size_t length) { return length == 0; }
};

template <class T> struct payload<slice<T>> {
    static_assert(std::is_trivially_copyable_v<T>, "its bytes have to be all that there is of it");
    using in = span<const T>;
    using out = std::vector<T>;
    static constexpr std::size_t longest(std::size_t count) { return count * sizeof(T); }
    static span<const char> bytes(in values)
    {
        return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
    }
    static out room(std::size_t length) { return out(length / sizeof(T)); }
    static void *memory(out &values) { return values.data(); }
    static bool filled(out &values, std::size_t length)
    {
        if (length % sizeof(T) != 0)
            return false;
        values.resize(length / sizeof(T));
        return true;
    }
};

} // namespace narrows

/// Describes a struct, in its own namespace, by all its fields in their order: 1 to 16, with no gap
/// between them, each a number, an array or a struct that is described.
#define NARROWS_TYPE(type, ...)                                                                    \
    static_assert(std::is_standard_layout_v<type> && std::is_trivially_copyable_v<type>,           \
                  #type " has more to it than its fields");                                        \
    static_assert(0 NARROWS_EACH(NARROWS_SIZE, type, __VA_ARGS__) == sizeof(type),                 \
                  #type " has a gap, or a field that is not named here");                          \
    inline void narrows_describe(std::string &to, ::narrows::of<type>)                             \
    {                                                                                              \
        const char *before = #type "{";                                                            \
        NARROWS_EACH(NARROWS_FIELD, type, __VA_ARGS__)                                             \
        to += '}' + std::to_string(sizeof(type));                                                  \
    }                                                                                              \
    static_assert(true, "")

#define NARROWS_SIZE(type, field) +sizeof(type::field)
#define NARROWS_FIELD(type, field)                                                                 \
    to += before + std::string(#field "@") + std::to_string(offsetof(type, field)) + ':';          \
    narrows_describe(to, ::narrows::of<decltype(type::field)>());                                  \
    before = ",";

#define NARROWS_EACH(act, type, ...)                                                               \
    NARROWS_PICK(__VA_ARGS__, NARROWS_16, NARROWS_15, NARROWS_14, NARROWS_13, NARROWS_12,          \
                 NARROWS_11, NARROWS_10, NARROWS_9, NARROWS_8, NARROWS_7, NARROWS_6, NARROWS_5,    \
                 NARROWS_4, NARROWS_3, NARROWS_2, NARROWS_1, )                                     \
    (act, type, __VA_ARGS__)
#define NARROWS_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, chosen, ...) chosen
#define NARROWS_1(act, type, field) act(type, field)
#define NARROWS_2(act, type, field, ...) act(type, field) NARROWS_1(act, type, __VA_ARGS__)
#define NARROWS_3(act, type, field, ...) act(type, field) NARROWS_2(act, type, __VA_ARGS__)
#define NARROWS_4(act, type, field, ...) act(type, field) NARROWS_3(act, type, __VA_ARGS__)
#define NARROWS_5(act, type, field, ...) act(type, field) NARROWS_4(act, type, __VA_ARGS__)
#define NARROWS_6(act, type, field, ...) act(type, field) NARROWS_5(act, type, __VA_ARGS__)
#define NARROWS_7(act, type, field, ...) act(type, field) NARROWS_6(act, type, __VA_ARGS__)
#define NARROWS_8(act, type, field, ...) act(type, field) NARROWS_7(act, type, __VA_ARGS__)
#define NARROWS_9(act, type, field, ...) act(type, field) NARROWS_8(act, type, __VA_ARGS__)
#define NARROWS_10(act, type, field, ...) act(type, field) NARROWS_9(act, type, __VA_ARGS__)
#define NARROWS_11(act, type, field, ...) act(type, field) NARROWS_10(act, type, __VA_ARGS__)
#define NARROWS_12(act, type, field, ...) act(type, field) NARROWS_11(act, type, __VA_ARGS__)
#define NARROWS_13(act, type, field, ...) act(type, field) NARROWS_12(act, type, __VA_ARGS__)
#define NARROWS_14(act, type, field, ...) act(type, field) NARROWS_13(act, type, __VA_ARGS__)
#define NARROWS_15(act, type, field, ...) act(type, field) NARROWS_14(act, type, __VA_ARGS__)
#define NARROWS_16(act, type, field, ...) act(type, field) NARROWS_15(act, type, __VA_ARGS__)

#endif
