"""What every test runs with, unless whoever calls pytest chose otherwise; set before torch is imported."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as a quick kernel has: sums in another order differ in bits
os.environ.setdefault("FDIV_OFFLINE", "1")
