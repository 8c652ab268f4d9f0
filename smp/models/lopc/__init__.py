"""LoPC: LogP with the cost of contention, for threads that send each other requests and wait for the replies.

    LogP    W + S_l + S_o + S_l + S_o                 work, wire, request handler, wire, reply handler
    LoPC    R_w + S_l + R_q + S_l + R_y               each R with its waits for others; C is the difference

The parameters of LogP are W, the work of a thread between two requests; S_l, the latency of a trip over the wire; S_o,
the time that a handler occupies its node; and P, the number of nodes. A node is a processor, and a handler is the code
that it runs for a request or a reply that arrives. LoPC replaces the times of the work, the request handler and the
reply handler by their response times R_w, R_q and R_y, which include waiting. C is the contention.

Handlers interrupt the thread of their node, and wait for each other in a FIFO. From W, S_l, S_o and P, and optionally
C², the squared coefficient of variation of the handlers' times, mean value analysis gives the throughput, the response
time and its parts, utilisations and queues. All times are in the same unit, which may be any.

    general           any work, any pattern, any number of hops (appendix A)
    all_to_all        every node sends to every other alike (chapter 5): bounds, a rule of thumb; most_contention
    client_server     some nodes serve the others (chapter 6); throughput_curve for every number of servers
    best_servers      the best number of servers (equation 6.8, and the best on small machines too); arrival_curve
    matrix_vector     a worked example (chapter 3)
    simulate          the same machine, event by event, with confidence intervals

A protocol processor runs the handlers while the thread continues its work, so R_w = W. Nodes with one are the thesis'
model of shared memory.

Source: M. Frank, "LoPC: Modeling Contention in Parallel Algorithms", MIT, 1997. docs/lopc.md reports how far the model
is from the simulation.
"""

from .all_to_all_model import AllToAll, all_to_all, most_contention
from .batches import Estimate
from .client_server_model import ClientServer, client_server, throughput_curve
from .general_model import General, general
from .matrix_vector_model import MatrixVector, matrix_vector
from .patterns import all_to_all_pattern, client_server_pattern
from .servers import Servers, arrival_curve, best_servers
from .simulation import Simulated, simulate

__all__ = [
    "AllToAll",
    "ClientServer",
    "Estimate",
    "General",
    "MatrixVector",
    "Servers",
    "Simulated",
    "all_to_all",
    "all_to_all_pattern",
    "arrival_curve",
    "best_servers",
    "client_server",
    "client_server_pattern",
    "general",
    "matrix_vector",
    "most_contention",
    "simulate",
    "throughput_curve",
]
