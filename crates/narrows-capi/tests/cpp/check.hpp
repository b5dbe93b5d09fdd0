// What the programs in C++ share: checks beside those of C.
#ifndef CHECK_HPP
#define CHECK_HPP

#include "../native/check.h"
#undef SOON
#undef BRIEFLY

#include <cmath>
#include <narrows.hpp>

using narrows::nanoseconds;

// As C's, as a time.
static constexpr nanoseconds SOON = std::chrono::seconds(60);
[[maybe_unused]] static constexpr nanoseconds BRIEFLY = std::chrono::milliseconds(20);

template <class T> static void good(const narrows::result<T> &result, int line)
{
    if (!result) {
        std::fprintf(stderr, "line %d: %s\n", line, result.error().text());
        std::fflush(stdout);
        _exit(1);
    }
}

#define GOOD(result) good(result, __LINE__)

static inline narrows::node named(const std::string &name)
{
    return narrows::node::open(name).value();
}

#endif
