"""exp for a whole tile, in vector instructions: the compiler has it for single numbers only."""

import numpy as np
from numba import njit

# exp(x) = 2^n exp(r) with |r| <= log(2) / 2. The two parts of log(2): n times the first is exact,
# and so nothing is lost in x - n log(2), which is why sums must not be reordered here.
LOG2_HIGH = 0.693359375
LOG2_LOW = -2.121944400546905827679e-4
INVERSE_LOG2 = 1.4426950408889634

LOWEST, HIGHEST = -746.0, 711.0  # zero below, infinite above
SMALLEST = -1080
POWERS = np.append(np.exp2(np.arange(SMALLEST, 1024.0)), [np.inf, np.inf, np.inf])


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def exponentials(x, out):
    """out = exp(x), to a unit of the last place; infinite from 0.7 times the largest number on."""
    number = x.dtype.type
    inverse, high, low = number(INVERSE_LOG2), number(LOG2_HIGH), number(LOG2_LOW)
    half, lowest, highest = number(0.5), number(LOWEST), number(HIGHEST)
    c2, c3, c4, c5 = number(1 / 2), number(1 / 6), number(1 / 24), number(1 / 120)
    c6, c7, c8, c9 = number(1 / 720), number(1 / 5040), number(1 / 40320), number(1 / 362880)
    c10, c11 = number(1 / 3628800), number(1 / 39916800)
    c12, c13 = number(1 / 479001600), number(1 / 6227020800)
    for d in range(len(x)):
        y = lowest if x[d] < lowest else x[d]
        y = highest if y > highest else y
        n = np.floor(y * inverse + half)
        r = y - n * high - n * low
        tail = c8 + r * (c9 + r * (c10 + r * (c11 + r * (c12 + r * c13))))
        head = c2 + r * (c3 + r * (c4 + r * (c5 + r * (c6 + r * (c7 + r * tail)))))
        # NaN has passed all comparisons, and is in r; it must not be taken for a place in a table.
        place = int(n if n > SMALLEST else number(SMALLEST)) - SMALLEST
        out[d] = (1 + r * (1 + r * head)) * number(POWERS[place])
