"""An Airflow home of the tests' own, set before anything imports Airflow, so that nothing of the machine's is read."""

from __future__ import annotations

import os
import tempfile

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="nodeworthy-airflow-")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
