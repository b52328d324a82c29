"""`ropes.metrics` needs NumPy alone to be imported; what else a metric needs is loaded when it is called."""

import subprocess
import sys

CODE = """
import sys
import numpy
before = set(sys.modules)
import ropes.metrics
assert set(ropes.metrics.__all__) <= set(dir(ropes.metrics))
print(*sorted(set(sys.modules) - before))
"""


def test_importing_the_metrics_loads_no_library_but_numpy() -> None:
    shown = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    names = shown.split()
    packages = {name.partition(".")[0] for name in names}
    assert "ropes" in packages
    assert packages.isdisjoint({"scipy", "sklearn", "lightgbm", "torch", "pandas", "matplotlib", "pyarrow"})
    assert {name for name in names if name.startswith("ropes.")} == {
        name for name in names if name.startswith("ropes.metrics")
    }
    assert len(names) < 120, "importing takes .2 s at most; each module counts"
