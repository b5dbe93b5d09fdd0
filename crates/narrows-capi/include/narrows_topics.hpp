// Topics of narrows.hpp: messages for whoever subscribes, each written once and read where it is.
#ifndef NARROWS_TOPICS_HPP
#define NARROWS_TOPICS_HPP

#include <narrows_node.hpp>

namespace narrows {

namespace detail {

/// What a message of a type is made of: one value, or as many as there are.
template <class T> struct message {
    using value = T;
    static bool fits(std::size_t length) { return length == payload<T>::longest(1); }
    static std::size_t count(std::size_t) { return 1; }
};

template <class T> struct message<slice<T>> {
    using value = T;
    static bool fits(std::size_t length) { return length % sizeof(T) == 0; }
    static std::size_t count(std::size_t length) { return length / sizeof(T); }
};

struct open_publisher {
    open_publisher(shared_node node, narrows_publisher *handle)
        : node(std::move(node)), handle(handle)
    {
    }
    open_publisher(const open_publisher &) = delete;
    open_publisher &operator=(const open_publisher &) = delete;
    ~open_publisher() { narrows_close_publisher(handle); }
    shared_node node;
    narrows_publisher *handle;
};

struct open_subscriber {
    open_subscriber(shared_node node, narrows_subscriber *handle)
        : node(std::move(node)), handle(handle)
    {
    }
    open_subscriber(const open_subscriber &) = delete;
    open_subscriber &operator=(const open_subscriber &) = delete;
    ~open_subscriber() { narrows_close_subscriber(handle); }
    shared_node node;
    narrows_subscriber *handle;
};

} // namespace detail

/// Memory of a publisher to make a message in, which has what was there before. It is given back
/// unless it was sent.
template <class T> class topic_loan {
public:
    using value = typename detail::message<T>::value;
    topic_loan(std::shared_ptr<detail::open_publisher> publisher, void *memory, std::size_t length)
        : publisher_(std::move(publisher)), memory_(memory), length_(length)
    {
    }
    topic_loan(topic_loan &&) = default;
    topic_loan &operator=(topic_loan &&) = delete;
    ~topic_loan()
    {
        if (publisher_)
            narrows_return_loan(publisher_->handle, memory_);
    }
    value *data() { return static_cast<value *>(memory_); }
    std::size_t size() const { return detail::message<T>::count(length_); }
    value *begin() { return data(); }
    value *end() { return data() + size(); }
    value &operator[](std::size_t at) { return data()[at]; }
    value &operator*() { return *data(); }
    value *operator->() { return data(); }
    /// Publishes it.
    done send()
    {
        done sent =
            detail::finished(narrows_publish_loan(publisher_->handle, memory_, length_));
        if (sent)
            publisher_.reset();
        return sent;
    }

private:
    std::shared_ptr<detail::open_publisher> publisher_;
    void *memory_;
    std::size_t length_;
};

/// Publishes values of a type, or a slice<> of them, to all that subscribe. Those are let in by its
/// calls, and by run() and wait() of its node.
template <class T> class publisher {
public:
    /// See node::publish.
    static result<publisher> open(detail::shared_node node, const std::string &topic,
                                  std::size_t longest, const narrows_topic &how)
    {
        narrows_publisher *handle = nullptr;
        const narrows_error code =
            narrows_open_publisher(node->handle, topic.c_str(), described<T>().c_str(),
                                   payload<T>::longest(longest), &how, &handle);
        if (code != NARROWS_OK)
            return error(code);
        return publisher(std::make_shared<detail::open_publisher>(std::move(node), handle));
    }

    /// Publishes a copy of a value, once there is room with all that are to miss nothing.
    done send(typename payload<T>::in value, nanoseconds timeout = patience)
    {
        const span<const char> bytes = payload<T>::bytes(value);
        return detail::finished(
            narrows_publish(open_->handle, bytes.data(), bytes.size(), timeout.count()));
    }

    /// Lends memory to make a value in, or so many of a slice<>. Meanwhile the publisher does
    /// nothing else.
    result<topic_loan<T>> loan(std::size_t count = 1, nanoseconds timeout = patience)
    {
        void *memory = nullptr;
        const std::size_t length = payload<T>::longest(count);
        const narrows_error code =
            narrows_loan(open_->handle, length, &memory, timeout.count());
        if (code != NARROWS_OK)
            return error(code);
        return topic_loan<T>(open_, memory, length);
    }

    /// Lets subscribers in and go, and says how many there are.
    result<std::size_t> subscribers()
    {
        std::size_t count = 0;
        const narrows_error code = narrows_subscribers(open_->handle, &count);
        if (code != NARROWS_OK)
            return error(code);
        return count;
    }

private:
    explicit publisher(std::shared_ptr<detail::open_publisher> open) : open_(std::move(open)) {}
    std::shared_ptr<detail::open_publisher> open_;
};

/// A message of a topic where its publisher made it, which this gives back. A publisher that breaks
/// the rules can change it meanwhile: copy() what must not change before it is looked at.
template <class T> class sample {
public:
    using value = typename detail::message<T>::value;
    sample(std::shared_ptr<detail::open_subscriber> subscriber, const void *bytes,
           std::size_t length)
        : subscriber_(std::move(subscriber)), bytes_(bytes), length_(length)
    {
    }
    sample(sample &&) = default;
    sample &operator=(sample &&) = delete;
    ~sample()
    {
        if (subscriber_)
            narrows_return_sample(subscriber_->handle, bytes_);
    }
    const value *data() const { return static_cast<const value *>(bytes_); }
    std::size_t size() const { return detail::message<T>::count(length_); }
    const value *begin() const { return data(); }
    const value *end() const { return data() + size(); }
    const value &operator[](std::size_t at) const { return data()[at]; }
    const value &operator*() const { return *data(); }
    const value *operator->() const { return data(); }
    /// The node of its publisher.
    std::string publisher() const
    {
        char name[NARROWS_NAME_ROOM] = "";
        narrows_sample_publisher(subscriber_->handle, bytes_, name);
        return name;
    }
    /// A copy: a value, or a std::vector of those of a slice<>.
    typename payload<T>::out copy() const { return *detail::value_of<T>(bytes_, length_); }

private:
    std::shared_ptr<detail::open_subscriber> subscriber_;
    const void *bytes_;
    std::size_t length_;
};

/// Takes what is published of a topic by all that publish it, of each in its own order.
template <class T> class subscriber {
public:
    /// See node::subscribe.
    static result<subscriber> open(detail::shared_node node, const std::string &topic,
                                   const narrows_subscription &how, nanoseconds timeout)
    {
        narrows_subscriber *handle = nullptr;
        const narrows_error code =
            narrows_open_subscriber(node->handle, topic.c_str(), described<T>().c_str(), &how,
                                    timeout.count(), &handle);
        if (code != NARROWS_OK)
            return error(code);
        return subscriber(topic,
                          std::make_shared<detail::open_subscriber>(std::move(node), handle));
    }

    /// The next message. NARROWS_PEER_GONE, once, if all publishers have gone and all that they had
    /// published is taken; others are looked for from then on.
    result<sample<T>> take(nanoseconds timeout = patience)
    {
        const void *bytes = nullptr;
        std::size_t length = 0;
        const narrows_error code = narrows_take(open_->handle, &bytes, &length, timeout.count());
        if (code != NARROWS_OK)
            return error(code);
        sample<T> taken(open_, bytes, length);
        if (!detail::message<T>::fits(length))
            return error(NARROWS_TYPES, topic_ + " has a message of another length than its type "
                                                 "has: its publisher is not what it says");
        return taken;
    }

    /// How many messages were lost, because they were not taken in time.
    std::uint32_t lost() const
    {
        std::uint32_t count = 0;
        narrows_lost(open_->handle, &count);
        return count;
    }

private:
    subscriber(std::string topic, std::shared_ptr<detail::open_subscriber> open)
        : topic_(std::move(topic)), open_(std::move(open))
    {
    }
    std::string topic_;
    std::shared_ptr<detail::open_subscriber> open_;
};

} // namespace narrows

#endif
