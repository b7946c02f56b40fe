"""The bring-up DAG of Airflow: a batch of racked nodes becomes proven standby capacity.

The steps are those of the onboarding path in `include/lifecycle/default.yaml`, in its order.
"""

from nodeworthy.tasks.bring_up import bring_up_dag

dag = bring_up_dag()
