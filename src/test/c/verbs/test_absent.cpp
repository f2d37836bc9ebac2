// Every imported function absent: the stub's exception must come through the shim's C frames to
// the caller, with nothing leaked on the way (run under the address sanitizer too). The stubs are
// generated from the list of imports; the names thrown must be that list.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include <infiniband/verbs.h>

#include "absent.hpp"
#include "metrale_ibv.h"

namespace
{

std::set<std::string> thrown;
int failures = 0;
int calls = 0;

template <typename Call> void expect(const char *name, Call call)
{
    calls++;
    try {
        int rc = call();
        std::fprintf(stderr, "%s: returned %d instead of throwing\n", name, rc);
        failures++;
    } catch (const Absent &absent) {
        thrown.insert(absent.name);
        if (std::strcmp(absent.name, name) != 0) {
            std::fprintf(stderr, "expected %s, thrown by %s\n", name, absent.name);
            failures++;
        }
    }
}

} // namespace

int main(int, char **argv)
{
    ibv_device device = {};
    ibv_context context = {};
    context.device = &device;
    ibv_pd pd = {};
    ibv_mr mr = {};
    ibv_comp_channel channel = {};
    ibv_cq cq = {};
    ibv_srq srq = {};
    ibv_qp qp = {};
    ibv_context *context_out;
    ibv_pd *pd_out;
    ibv_mr *mr_out;
    ibv_comp_channel *channel_out;
    ibv_cq *cq_out;
    ibv_srq *srq_out;
    ibv_qp *qp_out;
    std::uint64_t list;
    char text[32];
    metrale_ibv_device described;
    metrale_ibv_device_attr limits;
    metrale_ibv_port port;
    alignas(8) metrale_ibv_gid_entry gid;
    metrale_ibv_srq_attr srq_attr = {};
    metrale_ibv_qp_attr attr = {};
    metrale_ibv_qp_init init = {};
    metrale_ibv_async_event event = {};
    init.qp_type = METRALE_IBV_QPT_RC;
    ibv_device *devices[] = {&device, nullptr};

    expect("ibv_fork_init", [&] { return metrale_ibv_fork_init(); });
    expect("ibv_is_fork_initialized", [&] { return metrale_ibv_is_fork_initialized(); });
    expect("ibv_get_device_list", [&] { return metrale_ibv_get_device_list(&list); });
    expect("ibv_free_device_list",
           [&] { return metrale_ibv_free_device_list(reinterpret_cast<std::uint64_t>(devices)); });
    expect("ibv_get_device_guid", [&] { return metrale_ibv_describe_device(&device, &described); });
    expect("ibv_get_device_index", [&] { return metrale_ibv_get_device_index(&device); });
    expect("ibv_open_device", [&] { return metrale_ibv_open_device(&device, &context_out); });
    expect("ibv_close_device", [&] { return metrale_ibv_close_device(&context); });
    expect("ibv_query_device", [&] { return metrale_ibv_query_device(&context, &limits); });
    expect("ibv_query_port", [&] { return metrale_ibv_query_port(&context, 1, &port); });
    expect("_ibv_query_gid_table", [&] { return metrale_ibv_query_gid_table(&context, &gid, 1); });
    expect("_ibv_query_gid_ex", [&] { return metrale_ibv_query_gid_ex(&context, 1, 0, &gid); });
    expect("ibv_query_pkey", [&] { return metrale_ibv_query_pkey(&context, 1, 0); });
    expect("ibv_alloc_pd", [&] { return metrale_ibv_alloc_pd(&context, &pd_out); });
    expect("ibv_dealloc_pd", [&] { return metrale_ibv_dealloc_pd(&pd); });
    expect("ibv_reg_mr", [&] { return metrale_ibv_reg_mr(&pd, 4096, 1, 7, &mr_out); });
    expect("ibv_reg_mr_iova2", [&] {
        return metrale_ibv_reg_mr(&pd, 4096, 1, METRALE_IBV_ACCESS_RELAXED_ORDERING, &mr_out);
    });
    expect("ibv_reg_dmabuf_mr",
           [&] { return metrale_ibv_reg_dmabuf_mr(&pd, 0, 1, 0, 3, 7, &mr_out); });
    expect("ibv_dereg_mr", [&] { return metrale_ibv_dereg_mr(&mr); });
    expect("ibv_create_comp_channel",
           [&] { return metrale_ibv_create_comp_channel(&context, &channel_out); });
    expect("ibv_destroy_comp_channel", [&] { return metrale_ibv_destroy_comp_channel(&channel); });
    expect("ibv_get_cq_event", [&] { return metrale_ibv_get_cq_event(&channel, &list); });
    expect("ibv_create_cq",
           [&] { return metrale_ibv_create_cq(&context, 1, nullptr, 0, &cq_out); });
    expect("ibv_resize_cq", [&] { return metrale_ibv_resize_cq(&cq, 1); });
    expect("ibv_destroy_cq", [&] { return metrale_ibv_destroy_cq(&cq); });
    expect("ibv_ack_cq_events", [&] { return metrale_ibv_ack_cq_events(&cq, 1); });
    expect("ibv_create_srq", [&] { return metrale_ibv_create_srq(&pd, 1, &srq_attr, &srq_out); });
    expect("ibv_modify_srq",
           [&] { return metrale_ibv_modify_srq(&srq, &srq_attr, METRALE_IBV_SRQ_LIMIT); });
    expect("ibv_query_srq", [&] { return metrale_ibv_query_srq(&srq, &srq_attr); });
    expect("ibv_destroy_srq", [&] { return metrale_ibv_destroy_srq(&srq); });
    expect("ibv_create_qp",
           [&] { return metrale_ibv_create_qp(&pd, &cq, &cq, nullptr, &init, &qp_out); });
    expect("ibv_destroy_qp", [&] { return metrale_ibv_destroy_qp(&qp); });
    expect("ibv_modify_qp",
           [&] { return metrale_ibv_modify_qp(&qp, &attr, METRALE_IBV_QP_STATE); });
    expect("ibv_query_qp", [&] { return metrale_ibv_query_qp(&qp, &attr, &init); });
    expect("ibv_get_async_event", [&] { return metrale_ibv_get_async_event(&context, &event); });
    expect("ibv_ack_async_event", [&] {
        event.event_type = METRALE_IBV_EVENT_PORT_ERR;
        return metrale_ibv_ack_async_event(&event);
    });
    expect("ibv_wc_status_str", [&] { return metrale_ibv_wc_status_str(0, text, sizeof(text)); });
    expect("ibv_event_type_str", [&] { return metrale_ibv_event_type_str(0, text, sizeof(text)); });
    expect("ibv_port_state_str", [&] { return metrale_ibv_port_state_str(0, text, sizeof(text)); });
    expect("ibv_node_type_str", [&] { return metrale_ibv_node_type_str(0, text, sizeof(text)); });

    // The old way to a GID asks for the port first, here through the newer operation.
    static verbs_context extended = {};
    extended.sz = sizeof(extended);
    extended.query_port = [](ibv_context *, std::uint8_t, ibv_port_attr *to, std::size_t) {
        to->gid_tbl_len = 4;
        return 0;
    };
    extended.context.device = &device;
    extended.context.abi_compat = reinterpret_cast<void *>(UINTPTR_MAX);
    expect("ibv_query_gid", [&] { return metrale_ibv_query_gid(&extended.context, 1, 0, &gid); });

    std::set<std::string> listed;
    std::ifstream list_file(argv[1]);
    for (std::string line; std::getline(list_file, line);)
        listed.insert(line);
    if (listed != thrown || listed.empty()) {
        std::fprintf(stderr, "%zu functions listed, %zu thrown\n", listed.size(), thrown.size());
        failures++;
    }
    std::printf("%d absent functions, %d failures\n", calls, failures);
    return failures == 0 ? 0 : 1;
}
