"""The lab's kubelets: nodes that register, heartbeat and run pods as isolated processes of this machine."""
