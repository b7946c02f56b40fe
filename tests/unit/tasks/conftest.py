"""An Airflow home of the tests' own, set before anything imports Airflow, so that nothing of the machine's is read."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="nodeworthy-airflow-")
atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
