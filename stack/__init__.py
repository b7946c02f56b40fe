"""Starts and stops what the demo and the tests run against: the virtual fleet and Airflow's four components.

Each process leads its own group, so that ending a group ends all that it started (`airflow standalone` leaves orphans).
Everything that a stack writes lies below one folder, `.run/` by default.
"""
