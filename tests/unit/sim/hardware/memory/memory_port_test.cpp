// SPDX-License-Identifier: Apache-2.0
// The target end of the sockets of SMs keeps the base protocol of TLM-2.0 with requesters that an
// SM is not: slow to end a response, ahead of time, with commands that a memory cannot carry out.
#include "sim/hardware/memory/memory_port.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sptc::memory {
namespace {

constexpr std::int64_t kLatency = 10;

/// Everything takes as long.
class EvenMemory : public MemoryPorts {
 public:
  EvenMemory(const base::Clock& clock, int ports) : MemoryPorts("memory", clock, ports) {}

  std::vector<std::uint64_t> addresses;  ///< of all requests, in the order of complete()

 protected:
  std::int64_t complete(std::size_t, tlm::tlm_generic_payload& payload, std::int64_t now) override {
    addresses.push_back(payload.get_address());
    return now + kLatency;
  }
};

class Requester : public sc_core::sc_module, public tlm::tlm_mm_interface {
 public:
  enum class Answer { kCompleted, kEndOnReturnPath, kEndLater };

  struct Response {
    std::int64_t cycle = 0;
    std::uint64_t address = 0;
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    bool operator==(const Response&) const = default;
  };

  SC_HAS_PROCESS(Requester);
  tlm_utils::simple_initiator_socket<Requester> socket{"socket"};
  std::vector<Response> responses;
  Answer answer = Answer::kCompleted;
  std::int64_t end_after = 0;  ///< cycles from a response to its end

  Requester(const sc_core::sc_module_name& name, const base::Clock& clock) : sc_core::sc_module(name), clock_(clock) {
    socket.register_nb_transport_bw(this, &Requester::respond);
    SC_METHOD(end_response);
    dont_initialize();
    sensitive << end_;
  }

  /// A read of 64 bytes that `change` has made another transaction, `ahead` cycles from now.
  template <typename Change>
  void request(std::uint64_t address, std::int64_t ahead, const Change& change) {
    auto* const payload = new tlm::tlm_generic_payload(this);
    payload->acquire();
    payload->set_command(tlm::TLM_READ_COMMAND);
    payload->set_address(address);
    payload->set_data_ptr(data_);
    payload->set_data_length(64);
    payload->set_streaming_width(64);
    change(*payload);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = clock_.cycles(ahead);
    EXPECT_EQ(socket->nb_transport_fw(*payload, phase, delay), tlm::TLM_UPDATED);
    EXPECT_EQ(phase, tlm::END_REQ);
    EXPECT_EQ(delay, clock_.cycles(ahead));
  }
  void request(std::uint64_t address, std::int64_t ahead = 0) {
    request(address, ahead, [](tlm::tlm_generic_payload&) {});
  }

  void free(tlm::tlm_generic_payload* payload) override { delete payload; }

 private:
  tlm::tlm_sync_enum respond(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    EXPECT_EQ(phase, tlm::BEGIN_RESP);
    responses.push_back({clock_.now(), payload.get_address(), payload.get_response_status()});
    if (answer == Answer::kEndLater) {
      open_ = &payload;
      end_.notify(clock_.cycles(end_after));
      return tlm::TLM_ACCEPTED;
    }
    delay += clock_.cycles(end_after);
    payload.release();
    if (answer == Answer::kCompleted) {
      return tlm::TLM_COMPLETED;
    }
    phase = tlm::END_RESP;
    return tlm::TLM_UPDATED;
  }
  void end_response() {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    tlm::tlm_generic_payload* const ended = std::exchange(open_, nullptr);
    socket->nb_transport_fw(*ended, phase, delay);
    ended->release();
  }

  const base::Clock& clock_;
  unsigned char data_[64] = {};
  tlm::tlm_generic_payload* open_ = nullptr;
  sc_core::sc_event end_;
};

struct Bench {
  Bench() : memory(clock, 2) {
    for (std::size_t i = 0; i < 2; ++i) {
      requesters.push_back(std::make_unique<Requester>(("requester" + std::to_string(i)).c_str(), clock));
      requesters.back()->socket.bind(memory.socket(i));
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  Requester& requester(std::size_t index) { return *requesters[index]; }

  const base::Clock clock{1000};
  EvenMemory memory;
  std::vector<std::unique_ptr<Requester>> requesters;
};

using Responses = std::vector<Requester::Response>;
// A request is looked at in the cycle behind its own.
constexpr std::int64_t kAnswered = 1 + kLatency;

TEST(MemoryPorts, BeginNoResponseBeforeTheEndOfTheOneBefore) {
  Bench bench;
  for (const auto answer :
       {Requester::Answer::kEndLater, Requester::Answer::kEndOnReturnPath, Requester::Answer::kCompleted}) {
    const std::int64_t start = bench.clock.now();
    Requester& slow = bench.requester(0);
    slow.answer = answer;
    slow.end_after = 7;
    for (const std::uint64_t address : {0, 64, 128}) {
      slow.request(address);
    }
    bench.requester(1).request(0);  // waits for nobody
    sc_core::sc_start();
    Responses expected;
    for (const std::uint64_t i : {0, 1, 2}) {
      expected.push_back({start + kAnswered + 7 * static_cast<std::int64_t>(i), 64 * i, tlm::TLM_OK_RESPONSE});
    }
    // What a call ends is known a cycle later.
    if (answer == Requester::Answer::kEndLater) {
      expected[1].cycle += 1;
      expected[2].cycle += 2;
    }
    EXPECT_EQ(std::exchange(slow.responses, {}), expected);
    EXPECT_EQ(std::exchange(bench.requester(1).responses, {}),
              (Responses{{start + kAnswered, 0, tlm::TLM_OK_RESPONSE}}));
  }
}

TEST(MemoryPorts, ARequestThatIsAheadOfTimeIsLookedAtWhenItsTimeHasCome) {
  Bench bench;
  bench.requester(0).request(0, 5);
  bench.requester(1).request(64, 0);
  sc_core::sc_start();
  EXPECT_EQ(bench.requester(0).responses, (Responses{{5 + kAnswered, 0, tlm::TLM_OK_RESPONSE}}));
  EXPECT_EQ(bench.requester(1).responses, (Responses{{kAnswered, 64, tlm::TLM_OK_RESPONSE}}));
}

TEST(MemoryPorts, LookAtRequestsOfOneCycleInTheOrderOfTheirPorts) {
  Bench bench;
  bench.requester(1).request(128);
  bench.requester(0).request(0);
  bench.requester(1).request(192);
  bench.requester(0).request(64);
  sc_core::sc_start();
  EXPECT_EQ(bench.memory.addresses, (std::vector<std::uint64_t>{0, 64, 128, 192}));
}

TEST(MemoryPorts, RefuseWhatTheyCannotCarryOut) {
  Bench bench;
  Requester& requester = bench.requester(0);
  unsigned char enabled = TLM_BYTE_ENABLED;
  using Payload = tlm::tlm_generic_payload;
  requester.request(0, 0, [](Payload& payload) { payload.set_command(tlm::TLM_IGNORE_COMMAND); });
  requester.request(0, 0, [&](Payload& payload) {
    payload.set_byte_enable_ptr(&enabled);
    payload.set_byte_enable_length(1);
  });
  requester.request(0, 0, [](Payload& payload) { payload.set_streaming_width(32); });
  requester.request(0, 0, [](Payload& payload) { payload.set_data_length(0); });
  sc_core::sc_start();
  std::vector<tlm::tlm_response_status> statuses;
  for (const Requester::Response& response : requester.responses) {
    statuses.push_back(response.status);
  }
  EXPECT_EQ(statuses, (std::vector{tlm::TLM_COMMAND_ERROR_RESPONSE, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE,
                                   tlm::TLM_BURST_ERROR_RESPONSE, tlm::TLM_BURST_ERROR_RESPONSE}));
}

}  // namespace
}  // namespace sptc::memory
