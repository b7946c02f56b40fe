"""The ground truth of the virtual fleet: nodes, parts, firmware, boot, faults and the lab's clock.

Everything that Redfish, Kubernetes, the tools and the TPM show is a view of what stands here.
"""
