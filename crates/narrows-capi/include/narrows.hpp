// Narrows from C++17, over narrows.h alone: services and topics with types, messages, and memory
// that is lent, each given back by its destructor. docs/CPP.md has an example and says what holds.
//
// Whatever can fail returns a narrows::result: a value, or an error with its sentence. Nothing here
// throws but result::value(). A node, with all that is made of it, belongs to one thread at a time;
// it closes when it and the last of its peers, clients, publishers, subscribers, loans and views
// are gone.
#ifndef NARROWS_HPP
#define NARROWS_HPP

#include <narrows_node.hpp>
#include <narrows_topics.hpp>

namespace narrows {

namespace detail {

template <class Q, class R, class F> struct function : served {
    explicit function(F body) : body(std::move(body)) {}
    static int run(void *user, const void *request, size_t length, void *response, size_t *room)
    {
        auto input = value_of<Q>(request, length);
        if (!input)
            return 1;
#if defined(__cpp_exceptions)
        try {
#endif
            const typename payload<R>::out output = static_cast<function *>(user)->body(*input);
            const span<const char> bytes = payload<R>::bytes(output);
            if (!bytes.empty() && bytes.size() <= *room)
                std::memcpy(response, bytes.data(), bytes.size());
            *room = bytes.size();
            return 0;
#if defined(__cpp_exceptions)
        } catch (...) {
            return 1;
        }
#endif
    }
    F body;
};

} // namespace detail

/// A message where its sender made it, which this gives back. A peer that breaks the rules can
/// change its bytes meanwhile: copy() what must not change before it is looked at.
class view {
public:
    view(detail::shared_node node, const void *bytes, std::size_t length, narrows_origin origin)
        : node_(std::move(node)), bytes_(bytes), length_(length), origin_(origin)
    {
    }
    view(view &&) = default;
    view &operator=(view &&) = delete;
    ~view()
    {
        if (node_)
            narrows_release(node_->handle, bytes_);
    }
    const void *data() const { return bytes_; }
    std::size_t size() const { return length_; }
    const narrows_origin &origin() const { return origin_; }
    /// A copy as a type: none if no value of it has so many bytes.
    template <class T> std::optional<typename payload<T>::out> copy() const
    {
        return detail::value_of<T>(bytes_, length_);
    }

private:
    detail::shared_node node_;
    const void *bytes_;
    std::size_t length_;
    narrows_origin origin_;
};

namespace detail {

struct open_flow {
    open_flow(shared_node node, narrows_flow *handle) : node(std::move(node)), handle(handle) {}
    open_flow(const open_flow &) = delete;
    open_flow &operator=(const open_flow &) = delete;
    ~open_flow() { narrows_close_flow(handle); }
    shared_node node;
    narrows_flow *handle;
};

} // namespace detail

/// Memory of a flow's blocks to make a message in. It is given back unless it was sent.
class loan {
public:
    loan(std::shared_ptr<detail::open_flow> flow, void *memory, std::size_t length)
        : flow_(std::move(flow)), memory_(memory), length_(length)
    {
    }
    loan(loan &&) = default;
    loan &operator=(loan &&) = delete;
    ~loan()
    {
        if (flow_)
            narrows_cancel(flow_->handle, memory_);
    }
    void *data() { return memory_; }
    std::size_t size() const { return length_; }
    /// Sends it from an own port. On an error it stays lent.
    done send(std::uint16_t from, nanoseconds timeout = patience)
    {
        done sent = detail::finished(narrows_commit(flow_->handle, memory_, from, timeout.count()));
        if (sent)
            flow_.reset();
        return sent;
    }

private:
    std::shared_ptr<detail::open_flow> flow_;
    void *memory_;
    std::size_t length_;
};

/// Calls a service that takes a Q and gives an R. Where the node of the service has gone, the call
/// under way ends with an error, and the next looks for the service again.
template <class Q, class R> class client {
public:
    /// See node::find.
    client(detail::shared_node node, std::string service, std::string strategy, std::size_t longest)
        : node_(std::move(node)), service_(std::move(service)), strategy_(std::move(strategy)),
          request_(described<Q>()), response_(described<R>()),
          longest_(payload<R>::longest(longest))
    {
    }

    /// Looks for the service, unless it has been found.
    done find(nanoseconds timeout = patience)
    {
        if (flow_)
            return nothing();
        narrows_flow *flow = nullptr;
        const narrows_error code = narrows_open_service(
            node_->handle, service_.c_str(), request_.c_str(), response_.c_str(),
            strategy_.c_str(), longest_, timeout.count(), &flow);
        if (code != NARROWS_OK)
            return error(code);
        flow_ = std::make_unique<detail::open_flow>(node_, flow);
        return nothing();
    }

    /// Calls it and waits for the response.
    result<typename payload<R>::out> call(typename payload<Q>::in request,
                                          nanoseconds timeout = patience)
    {
        if (const done found = find(timeout); !found)
            return found.error();
        const span<const char> bytes = payload<Q>::bytes(request);
        auto response = payload<R>::room(longest_);
        std::size_t length = longest_;
        const narrows_error code =
            narrows_call(flow_->handle, bytes.data(), bytes.size(), payload<R>::memory(response),
                         &length, timeout.count());
        if (code != NARROWS_OK) {
            error why(code);
            if (code == NARROWS_PEER_GONE)
                flow_.reset();
            return why;
        }
        if (!payload<R>::filled(response, length))
            return error(NARROWS_TYPES, service_ + " gave a response of another length than its "
                                                   "type has: it is not what it says");
        return response;
    }

private:
    detail::shared_node node_;
    std::string service_, strategy_, request_, response_;
    std::size_t longest_;
    std::unique_ptr<detail::open_flow> flow_;
};

/// A way for messages to a port of a peer.
class sender {
public:
    explicit sender(std::shared_ptr<detail::open_flow> flow) : flow_(std::move(flow)) {}
    /// Lends memory to make a message in.
    result<loan> lend(std::size_t length, nanoseconds timeout = patience)
    {
        void *memory = nullptr;
        const narrows_error code =
            narrows_reserve(flow_->handle, length, &memory, timeout.count());
        if (code != NARROWS_OK)
            return error(code);
        return loan(flow_, memory, length);
    }
    /// Sends a value, or a span of values, from an own port.
    template <class T>
    done send(std::uint16_t from, typename payload<T>::in value, nanoseconds timeout = patience)
    {
        const span<const char> bytes = payload<T>::bytes(value);
        return detail::finished(narrows_send_over(flow_->handle, from, bytes.data(), bytes.size(),
                                                  timeout.count()));
    }

private:
    std::shared_ptr<detail::open_flow> flow_;
};

/// A service, or topic, that a node offers.
struct service {
    std::string node, name, what;
};

/// One core's end.
class node {
public:
    /// Opens one; others find it by its name from here on.
    static result<node> open(const std::string &name, narrows_options options = NARROWS_OPTIONS)
    {
        narrows_node *handle = nullptr;
        const narrows_error code = narrows_open(name.c_str(), &options, &handle);
        if (code != NARROWS_OK)
            return error(code);
        return node(handle);
    }

    /// What narrows.h takes, for what is not here.
    narrows_node *handle() const { return node_->handle; }

    /// Offers a function: it is called with a `const Q &`, or a `const std::vector<T> &` for a
    /// slice<T>, and returns an R. It runs in run(), and cannot use its own node. One that throws
    /// has failed.
    template <class Q, class R, class F> done serve(const std::string &service, F body)
    {
        using function = detail::function<Q, R, F>;
        auto served = std::make_unique<function>(std::move(body));
        const narrows_error code = narrows_offer_service(
            handle(), service.c_str(), described<Q>().c_str(), described<R>().c_str(),
            &function::run, served.get());
        if (code == NARROWS_OK)
            node_->functions.push_back(std::move(served));
        return detail::finished(code);
    }

    /// Serves calls until some were served, a link came up or ended, or the time has passed, and
    /// lets in new subscribers. How many messages of calls that were.
    result<std::size_t> run(nanoseconds timeout = forever)
    {
        std::size_t served = 0;
        const narrows_error code = narrows_serve(handle(), timeout.count(), &served);
        if (code != NARROWS_OK)
            return error(code);
        return served;
    }

    /// A client of a service, which may be offered later: this waits for it. longest is how many
    /// values a response has at most that is a slice; the strategy is narrows.h's.
    template <class Q, class R>
    result<client<Q, R>> find(const std::string &service, const std::string &strategy = "",
                              std::size_t longest = 1024, nanoseconds timeout = patience)
    {
        client<Q, R> found(node_, service, strategy, longest);
        if (const done there = found.find(timeout); !there)
            return there.error();
        return found;
    }

    /// Publishes values of a type under a name. longest is how many values a message has that is a
    /// slice; longer ones get memory when they come. What else a topic is to be
    /// like is narrows.h's.
    template <class T>
    result<publisher<T>> publish(const std::string &topic, std::size_t longest = 1024,
                                 narrows_topic how = NARROWS_TOPIC)
    {
        return publisher<T>::open(node_, topic, longest, how);
    }

    /// Subscribes to a topic, which may be published later: this waits for it. With a time of 0 it
    /// does not, and the subscriber looks for the topic when it takes.
    template <class T>
    result<subscriber<T>> subscribe(const std::string &topic,
                                    narrows_subscription how = NARROWS_SUBSCRIPTION,
                                    nanoseconds timeout = patience)
    {
        return subscriber<T>::open(node_, topic, how, timeout);
    }

    /// The services and topics that nodes of this user offer.
    result<std::vector<service>> services() const
    {
        std::vector<service> all;
        const auto seen = [](void *user, const char *node, const char *name, const char *what) {
            static_cast<std::vector<service> *>(user)->push_back({node, name, what});
        };
        const narrows_error code = narrows_services(handle(), seen, &all);
        if (code != NARROWS_OK)
            return error(code);
        return all;
    }

    /// Opens a port to send from and receive at.
    done open_port(std::uint16_t port)
    {
        return detail::finished(narrows_open_port(handle(), port));
    }

    /// A way for messages to a port of a node, which is linked with.
    result<sender> to(const std::string &name, std::uint16_t port, const std::string &strategy = "",
                      nanoseconds timeout = patience)
    {
        narrows_peer *peer = nullptr;
        narrows_flow *flow = nullptr;
        narrows_error code = narrows_hunt(handle(), name.c_str(), timeout.count(), &peer);
        if (code == NARROWS_OK)
            code = narrows_open_flow_to_port(peer, port, strategy.c_str(), timeout.count(), &flow);
        if (code != NARROWS_OK)
            return error(code);
        return sender(std::make_shared<detail::open_flow>(node_, flow));
    }

    /// The next message of a port.
    result<view> receive(std::uint16_t port, nanoseconds timeout = patience)
    {
        const void *bytes = nullptr;
        std::size_t length = 0;
        narrows_origin origin{};
        const narrows_error code =
            narrows_receive_view(handle(), port, &bytes, &length, &origin, timeout.count());
        if (code != NARROWS_OK)
            return error(code);
        return view(node_, bytes, length, origin);
    }

    /// Waits until anything came, or wake() was called.
    done wait(nanoseconds timeout = forever)
    {
        return detail::finished(narrows_wait(handle(), timeout.count()));
    }

    /// Ends that wait, or the next, from any thread.
    done wake() const { return detail::finished(narrows_wake(handle())); }

private:
    explicit node(narrows_node *handle) : node_(std::make_shared<detail::open_node>(handle)) {}
    detail::shared_node node_;
};

} // namespace narrows

#endif
