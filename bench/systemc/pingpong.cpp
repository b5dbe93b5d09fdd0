// Two cores that send a message back and forth through a ring in shared memory, past all caches,
// over one bus with round-robin turns: the model that `narrows bench sim` runs, for SystemC.
//
// pingpong MESSAGES BYTES prints the virtual time in picoseconds and the seconds it took.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <systemc>
#include <vector>

using sc_core::sc_time;

static const uint32_t HEAD = 0, TAIL = 64, SLOTS = 128, RING = 1024, COUNT = 16, BLOCK = 4096;
static const uint32_t BURST = 32;

// A transfer takes 9 ns and 1 ns for each word; what it does is done at its end.
struct Bus : sc_core::sc_module {
    std::vector<unsigned char> memory;
    sc_core::sc_event choose, granted[2];
    bool waiting[2] = {false, false}, busy = false;
    int last = 0;

    SC_CTOR(Bus) : memory(2 * RING + 2 * COUNT * BLOCK) {
        SC_METHOD(arbitrate);
        sensitive << choose;
        dont_initialize();
    }

    void arbitrate() {
        for (int turn = 1; turn <= 2 && !busy; turn++) {
            int core = (last + turn) % 2;
            if (waiting[core]) {
                waiting[core] = false;
                busy = true;
                last = core;
                granted[core].notify();
            }
        }
    }

    void take(int core, uint32_t bytes) {
        waiting[core] = true;
        if (!busy) choose.notify(sc_core::SC_ZERO_TIME);
        wait(granted[core]);
        wait(sc_time(9 + (bytes + 3) / 4, sc_core::SC_NS));
    }

    void give() {
        busy = false;
        choose.notify(sc_core::SC_ZERO_TIME);
    }

    uint32_t load(int core, uint32_t address) {
        uint32_t word;
        take(core, 4);
        memcpy(&word, &memory[address], 4);
        give();
        return word;
    }

    void store(int core, uint32_t address, uint32_t word) {
        take(core, 4);
        memcpy(&memory[address], &word, 4);
        give();
    }

    void load_bytes(int core, uint32_t address, unsigned char *to, uint32_t bytes) {
        for (uint32_t at = 0; at < bytes; at += BURST) {
            uint32_t part = bytes - at < BURST ? bytes - at : BURST;
            take(core, part);
            memcpy(to + at, &memory[address + at], part);
            give();
        }
    }

    void store_bytes(int core, uint32_t address, const unsigned char *from, uint32_t bytes) {
        for (uint32_t at = 0; at < bytes; at += BURST) {
            uint32_t part = bytes - at < BURST ? bytes - at : BURST;
            take(core, part);
            memcpy(&memory[address + at], from + at, part);
            give();
        }
    }
};

struct Core : sc_core::sc_module {
    Bus &bus;
    int side;
    uint32_t messages, bytes, head = 0, tail_seen = 0, tail = 0, head_seen = 0;
    sc_time end;

    SC_HAS_PROCESS(Core);
    Core(sc_core::sc_module_name name, Bus &bus, int side, uint32_t messages, uint32_t bytes)
        : sc_module(name), bus(bus), side(side), messages(messages), bytes(bytes) {
        SC_THREAD(run);
    }

    void compute(unsigned nanos) { wait(sc_time(nanos, sc_core::SC_NS)); }

    uint32_t spin(uint32_t address, uint32_t old) {
        for (;;) {
            uint32_t word = bus.load(side, address);
            if (word != old) return word;
            compute(4);
        }
    }

    void send(const unsigned char *from) {
        uint32_t ring = side * RING;
        if (head - tail_seen == COUNT) tail_seen = spin(ring + TAIL, head - COUNT);
        uint32_t block = 2 * RING + side * COUNT * BLOCK + head % COUNT * BLOCK;
        bus.store_bytes(side, block, from, bytes);
        compute(6);
        uint32_t slot = ring + SLOTS + head % COUNT * 8;
        bus.store(side, slot, block);
        bus.store(side, slot + 4, bytes);
        bus.store(side, ring + HEAD, ++head);
    }

    void receive(unsigned char *to) {
        uint32_t ring = (1 - side) * RING;
        if (tail == head_seen) head_seen = spin(ring + HEAD, tail);
        compute(6);
        uint32_t slot = ring + SLOTS + tail % COUNT * 8;
        uint32_t block = bus.load(side, slot);
        uint32_t length = bus.load(side, slot + 4);
        bus.load_bytes(side, block, to, length);
        bus.store(side, ring + TAIL, ++tail);
    }

    void run() {
        std::vector<unsigned char> buffer(bytes, 7);
        for (uint32_t i = 0; i < messages; i++) {
            if (side == 0) {
                buffer[0] = i;
                send(buffer.data());
                receive(buffer.data());
            } else {
                receive(buffer.data());
                send(buffer.data());
            }
        }
        end = sc_core::sc_time_stamp();
    }
};

int sc_main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: pingpong MESSAGES BYTES\n");
        return 2;
    }
    uint32_t messages = strtoul(words[1], nullptr, 10), bytes = strtoul(words[2], nullptr, 10);
    sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
    Bus bus("bus");
    Core first("first", bus, 0, messages, bytes), second("second", bus, 1, messages, bytes);
    auto began = std::chrono::steady_clock::now();
    sc_core::sc_start();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    sc_time end = first.end > second.end ? first.end : second.end;
    printf("%llu %.6f\n", (unsigned long long)end.value(), took.count());
    return 0;
}
