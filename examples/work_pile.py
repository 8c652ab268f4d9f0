"""Choose how many of 16 processors should hand out the chunks that the others work on (LoPC, chapter 6)."""

from smp.models.lopc import arrival_curve, best_servers, client_server_pattern, simulate, throughput_curve

PROCESSORS = 16
WORK, LATENCY, OCCUPANCY = 1000.0, 40.0, 131.0  # cycles: of a chunk, of a message on the wire, of a handler
VARIATION = 0.0  # C²: every handler takes the same time

machine = {"variation": VARIATION}
choice = best_servers(WORK, LATENCY, OCCUPANCY, PROCESSORS, **machine)
curve = throughput_curve(WORK, LATENCY, OCCUPANCY, PROCESSORS, **machine)
exact = arrival_curve(WORK, LATENCY, OCCUPANCY, PROCESSORS, **machine)

print(f"equation 6.8: {choice.ideal:.2f} servers; take {choice.servers}")
print()
print("chunks in 100,000 cycles")
print("servers    LoPC   one client fewer    simulated (95% interval)   at most")
for servers in range(1, 7):
    done = simulate(*client_server_pattern(WORK, PROCESSORS, servers), LATENCY, OCCUPANCY, **machine).throughput
    model, fewer, upper = (1e5 * values[servers - 1] for values in (curve.throughput, exact, curve.upper))
    simulated = f"{1e5 * done.mean:.0f}  ({1e5 * done.low:.0f} to {1e5 * done.high:.0f})"
    print(f"{servers:>7}{model:>8.0f}{fewer:>19.0f}{simulated:>28}{upper:>10.0f}")
