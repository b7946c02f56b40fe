"""The fleet's BMCs as Redfish services: one TLS port, one path prefix `/bmc/<node>/redfish/v1/` per BMC.

Resources are rendered on demand from the ground truth; only sessions, tasks and settings are state of a BMC.
"""
