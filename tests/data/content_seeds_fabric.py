"""A small InfiniBand fabric as ibnetdiscover prints it: two hosts of one adapter, a leaf and a spine."""

from __future__ import annotations

FABRIC = """#
# Topology file: generated on Mon Nov 30 12:00:00 2026
#
# Initiated from node b83fd20300a1b2c0 port b83fd20300a1b2c0

vendid=0x2c9
devid=0xd2f2
sysimgguid=0xfc6a1c0300000001
switchguid=0xfc6a1c0300000001(fc6a1c0300000001)
Switch	64 "S-fc6a1c0300000001"		# "MF0;leaf-01:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]	"H-b83fd20300a1b2c0"[1](b83fd20300a1b2c0) 		# "gpu-node-1 mlx5_0" lid 5 4xNDR
[2]	"H-b83fd20300a1b2d0"[1](b83fd20300a1b2d0) 		# "gpu-node-2 mlx5_0" lid 6 4xNDR
[33]	"S-fc6a1c0300000002"[5]		# "MF0;spine-01:MQM9700/U1" lid 2 4xNDR

vendid=0x2c9
devid=0xd2f2
sysimgguid=0xfc6a1c0300000002
switchguid=0xfc6a1c0300000002(fc6a1c0300000002)
Switch	64 "S-fc6a1c0300000002"		# "MF0;spine-01:MQM9700/U1" enhanced port 0 lid 2 lmc 0
[5]	"S-fc6a1c0300000001"[33]		# "MF0;leaf-01:MQM9700/U1" lid 1 4xNDR

vendid=0x2c9
devid=0x1021
sysimgguid=0xb83fd20300a1b2c0
caguid=0xb83fd20300a1b2c0
Ca	1 "H-b83fd20300a1b2c0"		# "gpu-node-1 mlx5_0"
[1](b83fd20300a1b2c0) 	"S-fc6a1c0300000001"[1]		# lid 5 lmc 0 "MF0;leaf-01:MQM9700/U1" lid 1 4xNDR

vendid=0x2c9
devid=0x1021
sysimgguid=0xb83fd20300a1b2d0
caguid=0xb83fd20300a1b2d0
Ca	1 "H-b83fd20300a1b2d0"		# "gpu-node-2 mlx5_0"
[1](b83fd20300a1b2d0) 	"S-fc6a1c0300000001"[2]		# lid 6 lmc 0 "MF0;leaf-01:MQM9700/U1" lid 1 4xNDR
"""
