#ifndef METRALE_EMULATOR_IBVERBS_OBJECTS_H
#define METRALE_EMULATOR_IBVERBS_OBJECTS_H

#include "ibverbs/machine.h"

#include <condition_variable>
#include <deque>
#include <set>
#include <shared_mutex>
#include <unordered_map>

/*
 * What stands behind the handles. Each handle is the first member of its object.
 *
 * Locks are taken in this order: device, context's set of queue pairs, queue pair, shared receive
 * queue, completion queue, events. A region's lock is taken alone.
 */
namespace metrale::emulator::ibv
{

class QueuePair;
class SharedReceiveQueue;

/* A counting event descriptor with the calls that must not wait for ever. */
class Signal
{
  public:
    explicit Signal(bool counting);
    ~Signal();
    Signal(const Signal &) = delete;
    Signal &operator=(const Signal &) = delete;

    int fd() const
    {
        return fd_;
    }
    void raise();
    /* Takes one (all, when not counting), if there is one. */
    void take();

  private:
    int fd_;
};

struct PendingEvent {
    ibv_async_event event{};
    const void *owner = nullptr;
};

struct Context {
    explicit Context(Device &on);
    ~Context();

    /* Last in the public structure is the plain context, which is the handle. */
    verbs_context extended{};
    Device &device;

    static Context *of(ibv_context *handle);
    ibv_context *handle()
    {
        return &extended.context;
    }

    void raise(const ibv_async_event &event, const void *owner);
    void forget_events(const void *owner);
    int next_event(ibv_async_event *out);

    void add(QueuePair *pair);
    void remove(QueuePair *pair);
    void fail_queue_pairs();

    std::atomic<int> children{0};

  private:
    Signal events_ready_{true};
    std::mutex events_mutex_;
    std::deque<PendingEvent> events_;
    std::mutex pairs_mutex_;
    std::set<QueuePair *> pairs_;
};

struct Domain {
    ibv_pd handle{};
    Context *context = nullptr;
    std::atomic<int> children{0};
};

/*
 * Registered memory. A transfer holds `mutex` shared for one non-blocking system call at a time,
 * so ending a registration waits for no peer; after that the region is invalid and its memory is
 * not touched again.
 */
struct Region {
    ibv_mr handle{};
    Domain *domain = nullptr;
    uint64_t iova = 0;
    uint64_t length = 0;
    uint8_t *base = nullptr;
    unsigned access = 0;
    void *mapped = nullptr;
    size_t mapped_bytes = 0;
    std::shared_mutex mutex;
    bool valid = true;

    ~Region();
};

/* A checked piece of registered memory. */
struct Piece {
    std::shared_ptr<Region> region;
    uint8_t *data = nullptr;
    uint64_t length = 0;
};

class RegionTable
{
  public:
    static RegionTable &instance();

    int add(std::shared_ptr<Region> region);
    bool remove(Region *region);
    /* Nothing when the key is unknown, of another domain, or without room or rights. */
    bool find(uint32_t table_key, const Domain *domain, uint64_t address, uint64_t length,
              unsigned access, Piece *out);

  private:
    std::mutex mutex_;
    std::unordered_map<uint32_t, std::shared_ptr<Region>> regions_;
    uint32_t next_ = 0x1000;
};

/* The handle of an object whose events are to be acknowledged before it is destroyed. */
template <typename Public> struct Acknowledged {
    Public pub{};
    uint32_t events_taken = 0; /* below pub.mutex */

    Acknowledged()
    {
        pthread_mutex_init(&pub.mutex, nullptr);
        pthread_cond_init(&pub.cond, nullptr);
    }
    ~Acknowledged()
    {
        pthread_cond_destroy(&pub.cond);
        pthread_mutex_destroy(&pub.mutex);
    }
    Acknowledged(const Acknowledged &) = delete;
    Acknowledged &operator=(const Acknowledged &) = delete;

    static Acknowledged *of(Public *handle)
    {
        return reinterpret_cast<Acknowledged *>(handle);
    }

    void event_taken()
    {
        pthread_mutex_lock(&pub.mutex);
        ++events_taken;
        pthread_mutex_unlock(&pub.mutex);
    }

    /* The caller promised to acknowledge what was taken. */
    void await()
    {
        pthread_mutex_lock(&pub.mutex);
        while (pub.events_completed != events_taken)
            pthread_cond_wait(&pub.cond, &pub.mutex);
        pthread_mutex_unlock(&pub.mutex);
    }
};

struct CompletionQueue;

struct Channel {
    ibv_comp_channel handle{};
    Signal ready{true};
    std::mutex mutex;
    std::deque<CompletionQueue *> events;
    std::atomic<int> queues{0};
};

struct Entry {
    ibv_wc wc{};
    bool solicited = false;
    std::shared_ptr<QueuePair> pair;
    /* How many places of the send or the receive queue become free when this is polled. */
    int slots = 0;
    bool receive = false;
    /* Whose place it is, if the receive was a shared one. */
    std::shared_ptr<SharedReceiveQueue> shared;

    void release() const;
};

struct CompletionQueue {
    ibv_cq handle{};
    Context *context = nullptr;
    Channel *channel = nullptr;
    std::atomic<int> users{0};

    /* False when it has overrun: the entry is lost. */
    bool push(Entry entry);
    int poll(int capacity, ibv_wc *out);
    int arm(bool solicited_only);
    void forget(const QueuePair *pair);
    int resize(int entries);

    std::mutex mutex;
    std::deque<Entry> entries;
    bool overrun = false;

    uint32_t events_taken = 0; /* below handle.mutex */
    uint32_t async_taken = 0;  /* below handle.mutex */

  private:
    enum class Armed { No, Solicited, Any };
    Armed armed_ = Armed::No;
};

CompletionQueue *of(ibv_cq *handle);
Domain *of(ibv_pd *handle);
Region *of(ibv_mr *handle);
Channel *of(ibv_comp_channel *handle);

/* Live objects of this process, by kind, for tests that look for leaks. */
enum class Kind {
    Context,
    Domain,
    Region,
    Channel,
    CompletionQueue,
    QueuePair,
    SharedReceiveQueue,
    Count
};
std::atomic<int> &live(Kind kind);

} // namespace metrale::emulator::ibv

#endif
