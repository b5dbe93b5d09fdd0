// Topics in C++: beside programs in C++, and one in Rust that has the same types.
#include "check.hpp"

namespace shapes {
struct Point {
    float x, y;
};
NARROWS_TYPE(Point, x, y);

struct Line {
    Point ends[2];
    std::uint32_t color;
    std::array<std::uint8_t, 4> style;
};
NARROWS_TYPE(Line, ends, color, style);
} // namespace shapes

using narrows::slice;
using shapes::Line;
using shapes::Point;

static narrows_subscription lossless(std::uint32_t depth)
{
    narrows_subscription how = NARROWS_SUBSCRIPTION;
    how.depth = depth;
    how.overflow = NARROWS_OVERFLOW_WAIT;
    return how;
}

template <class T> static void subscribed(narrows::node &node, narrows::publisher<T> &publisher)
{
    for (;;) {
        const auto count = publisher.subscribers();
        GOOD(count);
        if (*count > 0)
            return;
        GOOD(node.wait(BRIEFLY));
    }
}

// Publishes frames in place, and single numbers.
static void camera()
{
    narrows::node node = named("camera");
    narrows_topic how = NARROWS_TOPIC;
    how.history = 1;
    auto beats = node.publish<narrows::nothing>("beats", 1, how);
    GOOD(beats);
    GOOD(beats->send({}));
    narrows_topic fixed = NARROWS_TOPIC;
    fixed.limit = 1;
    auto frames = node.publish<slice<std::uint16_t>>("frames", 20000, fixed);
    GOOD(frames);
    subscribed(node, *frames);
    for (std::uint16_t number = 0; number < 100; number++) {
        auto frame = frames->loan(100 + number, SOON);
        GOOD(frame);
        CHECK(frame->size() == 100u + number);
        for (std::uint16_t &pixel : *frame)
            pixel = number;
        const auto busy = frames->send(std::vector<std::uint16_t>(1));
        CHECK(!busy && busy.error().code() == NARROWS_OUTSTANDING);
        // Every other is dropped, and is nobody's.
        if (number % 2 == 0)
            GOOD(frame->send());
    }
    GOOD(frames->send(std::vector<std::uint16_t>{1, 2, 3}, SOON));
    const auto long_one = frames->loan(30000);
    CHECK(!long_one && long_one.error().code() == NARROWS_TOO_LONG);
    std::size_t peers = 0;
    do {
        GOOD(node.run(SOON));
        WORKS(narrows_peers(node.handle(), &peers));
    } while (peers > 0);
}

static void viewer()
{
    std::optional<narrows::node> node = named("viewer");
    auto nobody = node->subscribe<Point>("nothing", NARROWS_SUBSCRIPTION, BRIEFLY);
    CHECK(!nobody && nobody.error().code() == NARROWS_TIMEOUT);
    std::optional<narrows::subscriber<slice<std::uint16_t>>> frames =
        node->subscribe<slice<std::uint16_t>>("frames", lossless(4), SOON).value();
    std::optional<narrows::sample<slice<std::uint16_t>>> kept;
    for (std::uint16_t number = 0; number < 100; number += 2) {
        auto frame = frames->take(SOON);
        GOOD(frame);
        CHECK(frame->size() == 100u + number && (*frame)[99] == number);
        for (const std::uint16_t pixel : *frame)
            CHECK(pixel == number);
        if (number == 4)
            kept.emplace(std::move(*frame));
    }
    CHECK((frames->take(SOON).value().copy() == std::vector<std::uint16_t>{1, 2, 3}));
    CHECK(frames->lost() == 0);
    const auto none = frames->take(nanoseconds(0));
    CHECK(!none && none.error().code() == NARROWS_AGAIN);

    const auto other = node->subscribe<slice<std::int16_t>>("frames", NARROWS_SUBSCRIPTION, SOON);
    CHECK(!other && other.error().code() == NARROWS_TYPES);
    CHECK(std::strstr(other.error().text(), "it is [u16], and this program has [i16]") != nullptr);

    narrows_subscription late = NARROWS_SUBSCRIPTION;
    late.history = 1;
    auto beats = node->subscribe<narrows::nothing>("beats", late, SOON);
    GOOD(beats);
    GOOD(beats->take(SOON));

    // What was taken outlives all else of it.
    frames.reset();
    CHECK(kept->size() == 104 && (*kept)[103] == 4);
    const auto services = node->services();
    GOOD(services);
    bool found = false;
    for (const narrows::service &one : *services)
        found |= one.node == "camera" && one.name == "frames" && one.what.find("publish [u16]") == 0;
    CHECK(found);
}

// With a program in Rust, which the test has beside this one.
static void with_rust()
{
    narrows::node node = named("cpp");
    auto points = node.publish<slice<Point>>("cpp.points", 500);
    GOOD(points);
    const auto other = node.subscribe<Point>("rust.lines", NARROWS_SUBSCRIPTION, SOON);
    CHECK(!other && other.error().code() == NARROWS_TYPES);
    CHECK(std::strstr(other.error().text(), "rust.lines of rust has other types") != nullptr);
    CHECK(std::strstr(other.error().text(), "Line{ends@0:[Point{") != nullptr);
    auto lines = node.subscribe<Line>("rust.lines", lossless(8), SOON);
    GOOD(lines);
    for (std::uint32_t number = 0; number < 100; number++) {
        auto line = lines->take(SOON);
        GOOD(line);
        CHECK(line->publisher() == "rust");
        CHECK((*line)->color == number && (*line)->ends[1].y == 2 * static_cast<float>(number));
    }
    const auto gone = lines->take(SOON);
    CHECK(!gone && gone.error().code() == NARROWS_PEER_GONE);

    subscribed(node, *points);
    for (std::size_t count = 0; count < 20; count++) {
        auto some = points->loan(count, SOON);
        GOOD(some);
        for (Point &point : *some)
            point = {static_cast<float>(count), -1};
        GOOD(some->send());
    }
}

int main()
{
    alarm(PATIENCE);
    const pid_t pid = start(camera);
    viewer();
    finished(pid);
    with_rust();
    return 0;
}
