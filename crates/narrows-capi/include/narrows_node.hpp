// What narrows.hpp's parts share: a node, which closes when the last of what is made of it has
// gone.
#ifndef NARROWS_NODE_HPP
#define NARROWS_NODE_HPP

#include <narrows_types.hpp>

#include <memory>

namespace narrows {

namespace detail {

inline done finished(narrows_error code)
{
    if (code != NARROWS_OK)
        return error(code);
    return nothing();
}

/// A value of these bytes: none if no value of the type has so many.
template <class T>
std::optional<typename payload<T>::out> value_of(const void *bytes, std::size_t length)
{
    auto value = payload<T>::room(length);
    if (length > payload<T>::longest(length) || !payload<T>::filled(value, length))
        return std::nullopt;
    if (length > 0)
        std::memcpy(payload<T>::memory(value), bytes, length);
    return value;
}

/// A function that a node serves.
struct served {
    virtual ~served() = default;
};

/// A node with what it serves, which outlives it.
struct open_node {
    explicit open_node(narrows_node *handle) : handle(handle) {}
    open_node(const open_node &) = delete;
    open_node &operator=(const open_node &) = delete;
    ~open_node() { narrows_close(handle); }
    narrows_node *handle;
    std::vector<std::unique_ptr<served>> functions;
};

using shared_node = std::shared_ptr<open_node>;

} // namespace detail
} // namespace narrows

#endif
