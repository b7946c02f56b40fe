# One image for Airflow's components, the command line and the lab.
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends curl util-linux && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/nodeworthy
COPY requirements.txt .
# Compiled at build time: uncompiled, every task process pays seconds of CPU.
RUN pip install --no-cache-dir --compile -r requirements.txt
COPY . .
RUN useradd --create-home nodeworthy && mkdir -p /var/lib/nodeworthy && chown nodeworthy /var/lib/nodeworthy
USER nodeworthy
ENV PYTHONPATH=/opt/nodeworthy/plugins:/opt/nodeworthy AIRFLOW_HOME=/home/nodeworthy/airflow
