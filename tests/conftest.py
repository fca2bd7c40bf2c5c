"""What every test runs with, unless whoever calls pytest chose otherwise; set before torch is imported."""

import os
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as a quick kernel has: sums in another order differ in bits
os.environ.setdefault("FDIV_OFFLINE", "1")
# Runs of lessons, trained once for all tests of a session; the workers of pytest-xdist inherit the folder.
os.environ.setdefault("FDIV_RUNS", os.path.join(tempfile.mkdtemp(prefix="fdiv-tests-"), "runs"))
