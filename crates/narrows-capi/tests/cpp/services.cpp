// Services in C++: found by name and types, beside ones in Rust that have the same.
#include "check.hpp"

#include <atomic>

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

static void descriptions()
{
    CHECK(narrows::described<Point>() == "Point{x@0:f32,y@4:f32}8");
    CHECK(narrows::described<Line>() ==
          "Line{ends@0:[Point{x@0:f32,y@4:f32}8;2],color@16:u32,style@20:[u8;4]}24");
    CHECK((narrows::described<slice<std::array<std::int16_t, 3>>>() == "[[i16;3]]"));
    CHECK(narrows::described<narrows::nothing>() == "()");
}

// Serves until its last client has gone.
static void server()
{
    narrows::node node = named("dsp");
    int calls = 0;
    GOOD((node.serve<Line, float>("length", [&calls](const Line &line) {
        calls++;
        return std::hypot(line.ends[1].x - line.ends[0].x, line.ends[1].y - line.ends[0].y);
    })));
    GOOD((node.serve<slice<float>, slice<double>>("halves", [](const std::vector<float> &all) {
        std::vector<double> half;
        for (float one : all)
            half.push_back(one / 2.0);
        return half;
    })));
    GOOD((node.serve<narrows::nothing, std::int32_t>(
        "calls", [&calls](const narrows::nothing &) { return calls; })));
    GOOD((node.serve<std::uint8_t, narrows::nothing>(
        "throws", [](const std::uint8_t &) -> narrows::nothing {
            throw std::runtime_error("not today");
        })));
    const auto twice = node.serve<Line, float>("length", [](const Line &) { return 0.f; });
    CHECK(!twice && twice.error().code() == NARROWS_TAKEN);
    std::size_t peers = 0;
    do {
        GOOD(node.run(SOON));
        WORKS(narrows_peers(node.handle(), &peers));
    } while (peers > 0);
}

static void calls(narrows::node &node)
{
    auto length = node.find<Line, float>("length");
    GOOD(length);
    CHECK(length->call({{{0, 0}, {3, 4}}, 0, {}}).value() == 5.f);
    auto halves = node.find<slice<float>, slice<double>>("halves", "single_copy/hybrid=50us", 20000);
    GOOD(halves);
    for (std::size_t count : {0u, 1u, 3u, 5000u}) {
        const std::vector<float> all(count, 3.f);
        CHECK(halves->call(all).value() == std::vector<double>(count, 1.5));
    }
    auto count = node.find<narrows::nothing, std::int32_t>("calls");
    GOOD(count);
    CHECK(*count->call({}) == 1);
    auto throws = node.find<std::uint8_t, narrows::nothing>("throws");
    GOOD(throws);
    const auto failed = throws->call(1);
    CHECK(!failed && failed.error().code() == NARROWS_FAILED);
    // A result of more values than the client takes.
    auto few = node.find<slice<float>, slice<double>>("halves", "", 2);
    GOOD(few);
    const auto more = few->call(std::vector<float>(3));
    CHECK(!more && more.error().code() == NARROWS_TOO_LONG);
    CHECK(few->call(std::vector<float>(2)).value().size() == 2);

    const auto other = node.find<Line, double>("length");
    CHECK(!other && other.error().code() == NARROWS_TYPES);
    CHECK(std::strstr(other.error().text(), "call Line{") != nullptr);
    const auto nobody = node.find<Line, float>("width", "", 1, BRIEFLY);
    CHECK(!nobody && nobody.error().code() == NARROWS_TIMEOUT);
    bool threw = false;
    try {
        (void)node.find<Line, float>("width", "", 1, nanoseconds(0)).value();
    } catch (const std::runtime_error &error) {
        threw = std::strlen(error.what()) > 0;
    }
    CHECK(threw);
}

// One that is killed, and that comes again.
static void again(narrows::node &node, pid_t &pid)
{
    auto length = node.find<Line, float>("length");
    GOOD(length);
    const Line line = {{{0, 0}, {3, 4}}, 0, {}};
    GOOD(length->call(line));
    murder(pid);
    while (length->call(line))
        continue;
    pid = start(server);
    CHECK(length->call(line, SOON).value() == 5.f);
}

// With a program in Rust, which the test has beside this one: it serves "rust.length", and calls
// "cpp.scaled" until it is told that all is well.
static void with_rust(narrows::node &node)
{
    auto length = node.find<Line, float>("rust.length");
    GOOD(length);
    CHECK(length->call({{{0, 0}, {6, 8}}, 7, {}}).value() == 10.f);
    int left = 3;
    GOOD((node.serve<slice<Point>, slice<Point>>("cpp.scaled", [&left](std::vector<Point> all) {
        for (Point &point : all)
            point = {2 * point.x, 2 * point.y};
        left--;
        return all;
    })));
    while (left > 0)
        GOOD(node.run(SOON));
}

int main()
{
    alarm(PATIENCE);
    descriptions();
    pid_t pid = start(server);
    {
        narrows::node node = named("gpp");
        calls(node);
        again(node, pid);
        with_rust(node);
        bool found = false;
        const auto services = node.services();
        GOOD(services);
        for (const narrows::service &one : *services)
            found |= one.node == "dsp" && one.name == "halves" && one.what == "call [f32] [f64]";
        CHECK(found);
    }
    finished(pid);
    return 0;
}
