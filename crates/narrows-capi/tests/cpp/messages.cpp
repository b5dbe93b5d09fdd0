// Messages in C++: lent memory and views, which their destructors give back.
#include "check.hpp"

enum { PORT = 3, BACK = 4 };

static void sends()
{
    narrows::node node = named("camera");
    GOOD(node.open_port(BACK));
    auto frames = node.to("viewer", PORT, "single_copy/interrupt", SOON);
    GOOD(frames);
    for (int number = 0; number < 200; number++) {
        auto frame = frames->lend(40000, SOON);
        GOOD(frame);
        CHECK(frame->size() == 40000);
        std::memset(frame->data(), number, frame->size());
        // Every other is dropped, and its memory can be lent again.
        if (number % 2 == 0)
            GOOD(frame->send(BACK, SOON));
    }
    const std::vector<std::uint16_t> last = {1, 2, 3};
    GOOD(frames->send<narrows::slice<std::uint16_t>>(BACK, last, SOON));
    const auto long_one = frames->lend(1 << 30);
    CHECK(!long_one && long_one.error().code() == NARROWS_TOO_LONG);
    auto answer = node.receive(BACK, SOON);
    GOOD(answer);
    CHECK(answer->copy<std::uint32_t>() == 100u);
    CHECK(!answer->copy<std::uint64_t>());
}

int main()
{
    alarm(PATIENCE);
    const pid_t pid = start(sends);
    {
        narrows::node node = named("viewer");
        GOOD(node.open_port(PORT));
        std::uint32_t count = 0;
        std::optional<narrows::view> kept;
        for (;;) {
            auto frame = node.receive(PORT, SOON);
            GOOD(frame);
            if (const auto last = frame->copy<narrows::slice<std::uint16_t>>();
                last && last->size() == 3) {
                CHECK((*last)[2] == 3);
                auto back = std::make_optional<narrows::sender>(
                    node.to("camera", BACK, "", SOON).value());
                GOOD(back->send<std::uint32_t>(PORT, count, SOON));
                break;
            }
            CHECK(frame->size() == 40000);
            const auto *bytes = static_cast<const unsigned char *>(frame->data());
            CHECK(bytes[0] == 2 * count && bytes[39999] == 2 * count);
            if (count++ == 0)
                kept.emplace(std::move(*frame));
        }
        // It is as it was, whatever came since.
        CHECK(static_cast<const unsigned char *>(kept->data())[20000] == 0);
        const auto nothing = node.receive(PORT, nanoseconds(0));
        CHECK(!nothing && nothing.error().code() == NARROWS_AGAIN);
        CHECK(std::strlen(nothing.error().text()) > 0);
        finished(pid);
        // A node that goes first is open until what is of it has gone.
        std::optional<narrows::node> first = named("first");
        GOOD(first->open_port(PORT));
        auto own = first->receive(PORT, nanoseconds(0));
        CHECK(!own);
        first.reset();
        GOOD(narrows::node::open("first"));
    }
    const auto bad = narrows::node::open(".no");
    CHECK(!bad && bad.error().code() == NARROWS_NAME);
    return 0;
}
