"""Make a library of two ways to do the same thing; both are timed, and a call takes the one predicted to be faster."""

import numpy as np

import smp

norm = smp.Library("norm", {"n": "2..1e5 x 8"}, of=lambda x: (len(x),), setup=lambda n: (np.ones(n),))


@norm.implementation(["n"])  # terms that the time may depend on; a constant is added
def by_loop(x):
    return sum(value * value for value in x.tolist()) ** 0.5


@norm.implementation(["n"])
def by_numpy(x):
    return float(np.sqrt((x * x).sum()))


smp.calibrate(norm, verification=5)

for x in (np.array([3.0, 4.0]), np.ones(250_000)):
    print(f"{len(x):>7} elements: {norm.choose(len(x))} gives {norm(x):.1f}")
