#ifndef METRALE_EMULATOR_IBVERBS_QUEUE_PAIR_H
#define METRALE_EMULATOR_IBVERBS_QUEUE_PAIR_H

#include "ibverbs/shared_queue.h"
#include "ibverbs/wire.h"

#include <thread>

namespace metrale::emulator::ibv
{

struct SendRequest {
    uint64_t id = 0;
    ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
    unsigned flags = 0;
    uint32_t imm = 0;
    uint64_t remote_address = 0;
    uint32_t rkey = 0;
    uint64_t compare_add = 0;
    uint64_t swap = 0;
    std::vector<ibv_sge> elements;
    std::vector<uint8_t> inlined;
};

/*
 * A reliable connection. Two threads: the sender executes the send queue in order, one request
 * after the other; the responder answers the peer's requests. The number is unique on the
 * machine, because a socket of that name is bound to it.
 */
class QueuePair : public std::enable_shared_from_this<QueuePair>
{
  public:
    /* NULL with errno set. */
    static ibv_qp *create(Domain &domain, ibv_qp_init_attr *init);
    static std::shared_ptr<QueuePair> of(ibv_qp *handle);

    ~QueuePair();

    int destroy();
    int modify(const ibv_qp_attr &attr, int mask);
    int query(ibv_qp_attr *attr, ibv_qp_init_attr *init);
    int post(ibv_send_wr *wr, ibv_send_wr **bad);
    int post(ibv_recv_wr *wr, ibv_recv_wr **bad);

    /* The device is lost. */
    void fail();
    /* Completions were polled. */
    void release(bool receive, int slots);

  private:
    struct Handle : Acknowledged<ibv_qp> {
        std::shared_ptr<QueuePair> pair;
    };

    /* How executing a request ended. */
    struct Outcome {
        ibv_wc_status status = IBV_WC_SUCCESS;
        bool stopped = false;   /* the queue pair changed its state meanwhile */
        bool swallowed = false; /* a fault: done, but never said */
        bool hollow = false;    /* a fault: said to be done, but not, and the queue pair fails */
    };

    /* How one try of one part ended. */
    enum class Try { Done, Lost, NotReady, Stopped, Failed };

    QueuePair(Domain &in, const ibv_qp_init_attr &init);
    bool bind_number();

    int check_step(const ibv_qp_attr &attr, int mask, const Port &port) const;
    void apply(const ibv_qp_attr &attr, int mask, const Port &port);
    void reset_locked();
    void enter_error_locked();
    void raise_locked(ibv_event_type type);
    void interrupt();
    void flush_receives_locked();
    /* The next request, of its own or a shared queue; it is in use then. */
    bool take_receive_locked(ReceiveRequest *out);
    /* What was taken is as before for this queue pair, or flushed. */
    void keep_receive_locked(ReceiveRequest request);
    void tell_last_receive_locked();
    /* What was taken and did not complete is nobody's: its place is free. */
    void drop_receives_locked();
    bool complete_locked(const SendRequest &request, ibv_wc_status status, uint64_t bytes);
    bool complete_locked(const ReceiveRequest &request, ibv_wc wc, bool solicited);

    void send_loop();
    Outcome execute(const SendRequest &request, uint64_t generation);
    ibv_wc_status collect(const SendRequest &request, std::vector<Piece> *pieces,
                          uint64_t *total) const;
    bool reachable() const;
    Try attempt(const Request &part, const std::vector<Piece> &pieces, const Stop &stop,
                ibv_wc_status *status, uint32_t *rnr_timer);
    Try greet(const Stop &stop);
    Try lost();
    void hang_up();

    struct Inbound {
        int fd = -1;
        bool greeted = false;
        uint32_t path_mtu = 0;
    };
    void answer_loop();
    bool answer_hello(Inbound &peer, const Stop &stop);
    bool answer_request(Inbound &peer, const Stop &stop);
    Answer check_request(const Request &request, const Inbound &peer, std::vector<Piece> *target);
    bool answer_read(int fd, const Request &request, const std::vector<Piece> &target,
                     const Stop &stop);
    bool answer_write(int fd, const Request &request, const std::vector<Piece> &target,
                      const Stop &stop);
    bool answer_send(int fd, const Request &request, const Stop &stop);
    bool answer_atomic(int fd, const Request &request, const std::vector<Piece> &target,
                       const Stop &stop);
    bool answer_not_ready(int fd, const Stop &stop);
    bool reply(int fd, Answer answer, const Stop &stop, uint64_t value = 0);
    /* Refuses, and goes to the error state as a responder does. */
    bool refuse(int fd, Answer answer);
    /* Ends a receive request; false when there was no room for its completion. */
    bool received(const ReceiveRequest &request, const Request &from, ibv_wc_status status);

    Domain &domain_;
    Device &device_;
    Context &context_;
    CompletionQueue &send_queue_;
    CompletionQueue &receive_queue_;
    std::shared_ptr<SharedReceiveQueue> shared_;
    ibv_qp_cap cap_{};
    bool signal_all_ = false;
    ibv_qp_type type_ = IBV_QPT_RC;
    Handle *handle_ = nullptr;
    uint32_t number_ = 0;
    int listener_ = -1;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool closing_ = false;
    ibv_qp_state state_ = IBV_QPS_RESET;
    ibv_qp_attr attr_{};
    Gid source_gid_;
    /* Counted up when everything outstanding is dropped. */
    std::atomic<uint64_t> generation_{0};
    /* The same facts for the waits of the two threads. */
    std::atomic<bool> sending_{false};
    std::atomic<bool> answering_{false};
    std::deque<SendRequest> sends_;
    /* With a shared queue only one that was taken for a message that did not come whole. */
    std::deque<ReceiveRequest> receives_;
    bool receiving_ = false;
    std::atomic<int> sends_used_{0};
    std::atomic<int> receives_used_{0};
    int unsignaled_ = 0;
    uint32_t messages_sent_ = 0;
    uint32_t messages_received_ = 0;

    Signal sender_signal_{false};
    Signal responder_signal_{false};
    /* The sender's own: its connection, and the attributes when it took a request. */
    int outbound_ = -1;
    uint64_t outbound_generation_ = 0;
    ibv_qp_attr sender_attr_{};
    Gid sender_gid_;
    uint32_t sender_psn_ = 0;
    std::thread sender_;
    std::thread responder_;
};

} // namespace metrale::emulator::ibv

#endif
